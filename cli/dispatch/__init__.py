"""From parsed words to the command that runs."""
