"""Writes a spec as text, to store it, show it and launch it again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from core.launch.engines.registry import DEFAULT_ENGINE
from core.launch.spec.spec import Code, Spec, Tolerate
from core.launch.spec.yaml_quote import plain


def spec_file(spec: Spec) -> tuple[str, bytes]:
    """Return name and content of a spec's file: TOML, or JSON if a value is null."""
    table = spec_table(spec)
    if _holds_null(table):
        return "spec.json", json.dumps(table, indent=2).encode() + b"\n"
    return "spec.toml", spec_text(spec).encode()


def spec_text(spec: Spec) -> str:
    """Return a spec as TOML, one line for each key that differs from its default.

    Raises:
        ValueError: A value is null, which TOML does not have; `spec_file` handles that.
    """
    return table_text(spec_table(spec))


def table_text(table: Mapping[str, Any]) -> str:
    """Return a table as TOML, one line for each key.

    Raises:
        ValueError: A value has no form in TOML.
    """
    return "".join(f"{_key(key)} = {value_text(value)}\n" for key, value in table.items())


def spec_table(spec: Spec) -> dict[str, Any]:
    """Return a spec as a table of JSON values, as `check_table` reads it."""
    out: dict[str, Any] = {}
    for field in fields(spec):
        if field.name == "author":  # not a key
            continue
        value: Any = getattr(spec, field.name)
        if field.name in {"task", "model", "machine"}:
            out[field.name] = value[0] if len(value) == 1 else list(value)
        elif isinstance(value, Tolerate):
            out[field.name] = {"tolerate": value.threshold}
        elif isinstance(value, Code):
            held = {each.name: getattr(value, each.name) for each in fields(value)}
            out[field.name] = {key: each for key, each in held.items() if each is not None}
        elif not _is_default(value, field.name):
            out[field.name] = plain(value)
    return out


def _is_default(value: Any, key: str) -> bool:
    if key == "engine":
        return bool(value == DEFAULT_ENGINE)
    if key == "gpus":
        return bool(value == 0)
    return value is None or value is False or (isinstance(value, tuple | Mapping) and not value)


def _holds_null(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_null(each) for each in cast("Mapping[str, Any]", value).values())
    if isinstance(value, list):
        return any(_holds_null(each) for each in cast("Sequence[Any]", value))
    return value is None


def value_text(value: Any) -> str:
    """Return one value as TOML.

    Raises:
        ValueError: The value has no form in TOML.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        pairs = ", ".join(f"{_key(key)} = {value_text(each)}" for key, each in held.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_text(each) for each in cast('Sequence[Any]', value))}]"
    raise ValueError("TOML has no null")


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
