"""The kinds of findings, one file each: a file here that defines `KIND` is a kind."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from core.config.judge import JudgeRule
from core.judge.sign import Kind


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
