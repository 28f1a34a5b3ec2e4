"""Reaching machines: links, the hand-shake, and the probe."""
