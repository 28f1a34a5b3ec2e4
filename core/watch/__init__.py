"""Polling: which paths to poll, how often, and how to decode the answers into events."""
