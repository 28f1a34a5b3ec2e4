"""The fold: the only way the fleet changes. Pure functions, one file a kind of thing."""
