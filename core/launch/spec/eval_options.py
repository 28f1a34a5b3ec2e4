"""The options of `inspect eval-set`: what each takes, and which ones `options` may hold."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal, cast

from core.launch.spec.inspect_facts import inspect_facts

OptionKind = Literal["value", "flag", "pair", "optional", "many"]
"""What an option takes; `inspect_facts.toml` explains each."""


@cache
def option_kinds() -> Mapping[str, OptionKind]:
    """Return every option that `options` of a spec may hold: its name without dashes, its kind."""
    takes = cast("dict[OptionKind, list[str]]", inspect_facts()["options"]["takes"])
    return MappingProxyType({name: kind for kind, names in takes.items() for name in names})


@cache
def refused_options() -> Mapping[str, str]:
    """Return the options that `options` may not hold, each with what to do instead."""
    options = cast("dict[str, dict[str, str]]", inspect_facts()["options"])
    keys = {name: f'use the key "{key}"' for name, key in options["keys"].items()}
    return MappingProxyType({**keys, **options["refused"]})


def option_name(key: str) -> str:
    """Return an option's name as Inspect spells it: `max_tokens` and `--max-tokens` alike."""
    bare = key.lstrip("-")
    return bare if len(bare) == 1 else bare.replace("_", "-")


def option_kind(name: str) -> tuple[str, OptionKind] | None:
    """Return the option that `name` means, and its kind; None: Inspect has no such option.

    Args:
        name: From `option_name`. The `no-` form of a pair counts as the pair.
    """
    kinds = option_kinds()
    if name in kinds:
        return name, kinds[name]
    bare = name.removeprefix("no-")
    return (bare, "pair") if kinds.get(bare) == "pair" else None
