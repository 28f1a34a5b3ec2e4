"""Guides: short checklists. A step that only watches runs by itself; the others ask first."""
