"""Screens: one for each kind of place, made of panes."""
