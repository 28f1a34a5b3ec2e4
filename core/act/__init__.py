"""Actions: requests become a previewed plan, a confirmed plan becomes orders with outcomes."""
