"""The fold: the only way the fleet changes. Pure functions, one file for each kind of thing."""
