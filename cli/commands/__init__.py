"""What each command does, one file for a command or a few related ones."""
