"""What to look at and how often, and what an answer means."""
