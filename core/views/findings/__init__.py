"""What the screens and commands show of findings."""
