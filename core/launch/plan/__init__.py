"""Launch plans: everything that a launch will do on its machine."""
