"""Links: they connect to a machine and start programs there."""
