"""The headless twins of the screens."""
