"""How long evalroom waits for machines and evals; commands and the room wait equally long."""

REQUEST_TIMEOUT_S = 60.0
"""Seconds that the answer of an eval may take, and the first poll at the start of a command."""
