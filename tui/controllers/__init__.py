"""Controllers: what a key starts, from the selection to the service that does it."""
