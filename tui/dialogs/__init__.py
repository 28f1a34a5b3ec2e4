"""Dialogs: boxes over a screen that ask, preview or explain."""
