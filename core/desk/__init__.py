"""The desk: the one loop, what it shows, what it keeps, and what it sends."""
