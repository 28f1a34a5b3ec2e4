"""The preflight: surveys a machine before a run starts there, and judges the answers."""
