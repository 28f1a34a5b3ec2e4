"""Links: the ways to start a program on a machine."""
