"""Where the tree lies that is under test."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
