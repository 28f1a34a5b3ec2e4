"""What headless commands print: lines and JSON."""
