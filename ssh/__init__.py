"""Connections to machines: links, the handshake, the probe and jobs."""
