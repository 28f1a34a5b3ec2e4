"""What headless commands print: lines for people, JSON for programs."""
