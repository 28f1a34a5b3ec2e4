"""The config: its model, its file, and the rules for each key."""
