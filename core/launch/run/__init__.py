"""Runs: started, found again, listed and read."""
