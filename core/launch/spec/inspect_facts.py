"""Loads `inspect_facts.toml`: the options and model providers of one Inspect version."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def inspect_facts() -> Mapping[str, Any]:
    """Return the file as a table; it is read once, at the first call."""
    text = files("core.launch.spec").joinpath("inspect_facts.toml").read_text("utf-8")
    return tomllib.loads(text)


def inspect_version() -> str:
    """Return the Inspect version that the file describes, like `0.3.285`."""
    version: str = inspect_facts()["inspect"]
    return version
