"""The composition root: where all packages meet."""
