"""The output of headless commands: lines for people, JSON for programs."""
