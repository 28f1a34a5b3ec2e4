"""Panes: widgets that draw tables, pages, plots and bars."""
