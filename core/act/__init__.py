"""Acting: from what an operator wants, over a previewed plan, to orders and their outcomes."""
