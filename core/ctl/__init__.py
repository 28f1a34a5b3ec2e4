"""Inspect's control channel without I/O: routes, envelopes, equivalent commands."""
