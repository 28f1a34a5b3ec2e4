"""Triage: the short report that an experienced colleague gives, from what is known at once."""
