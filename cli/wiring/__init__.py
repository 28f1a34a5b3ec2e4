"""The composition root: connects core, ssh, storage and tui."""
