"""Guides: short checklists that run themselves, as far as nothing is sent unasked."""
