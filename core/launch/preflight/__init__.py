"""Looks at a machine before a run is started there: what is asked, and what its answers mean."""
