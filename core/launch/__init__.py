"""From a spec to all that starts a run: plain data and pure functions."""
