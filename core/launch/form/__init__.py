"""The launch form: a spec while it is filled in."""
