"""Findings, judged from the fleet."""
