"""The kinds of findings, one file each: a file here that defines `KIND` is a kind."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from core.config.judge import JudgeRule
from core.judge.sign import Kind

_OF_EVENTS = (
    "docker", "finished", "headless", "interrupt", "limits", "link", "log", "lost", "milestone",
    "notify", "order", "process", "run", "starved", "storage",
)  # fmt: skip
"""The kinds of findings that one event shows by itself: `core.judge.judge`, `core.desk.health`."""


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Return every kind of finding that is judged by signs, in the order of their names."""
    modules: list[Any] = [
        import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)
    ]
    return tuple(module.KIND for module in modules)


@cache
def all_rules() -> tuple[JudgeRule, ...]:
    """Return every number that the config may set under `[judge]`."""
    return tuple(rule for kind in all_kinds() for rule in kind.numbers)


@cache
def kind_names() -> tuple[str, ...]:
    """Return the name of every kind that a finding may have, sorted."""
    return tuple(sorted({*_OF_EVENTS, *(kind.name for kind in all_kinds())}))
