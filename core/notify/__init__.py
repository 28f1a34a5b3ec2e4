"""Notifications: findings told to people who do not look at the room."""
