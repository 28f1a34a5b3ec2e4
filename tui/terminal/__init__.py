"""Life in a terminal: signals, hang-ups, output, keys."""
