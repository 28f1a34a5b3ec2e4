"""The database's shape, one numbered SQL file per step. A file that was released never changes."""
