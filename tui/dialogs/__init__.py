"""Dialogs ask one thing."""
