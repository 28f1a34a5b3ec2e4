"""Rows of each pane, as plain functions."""
