"""Panes draw rows."""
