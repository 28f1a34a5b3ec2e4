"""Computes findings from the fleet: what an operator should know or act on."""
