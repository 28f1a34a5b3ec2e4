"""Screens compose panes."""
