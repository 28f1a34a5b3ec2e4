"""Inspect's control channel without I/O: its routes, its answers, its equivalent commands."""
