"""The words of the command line, one file a family of commands."""
