"""Quotes values for the options `-T`, `-M`, `--metadata` and `--model-role`.

Inspect parses the value of such an option as YAML 1.1, and then splits text at commas. Values
that don't survive this go into a JSON file.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*")
_YAML_WORDS = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"}
)
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def yaml_value(value: Any) -> str:
    """Return a JSON value as one line of YAML that parses to the same value."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float):
        return yaml_float(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        pairs = ", ".join(f"{_quoted(key)}: {yaml_value(each)}" for key, each in held.items())
        return f"{{{pairs}}}"
    listed = ", ".join(yaml_value(each) for each in cast("Sequence[Any]", value))
    return f"[{listed}]"


def yaml_float(value: float) -> str:
    """Return a finite number as YAML 1.1, which would read `1e-05` as text."""
    digits, mark, exponent = repr(value).partition("e")
    if not mark:
        return digits
    return f"{digits if '.' in digits else f'{digits}.0'}e{exponent}"


def word_value(value: Any) -> str | None:
    """Return an argument's value as a plain word; None: it must go into a file."""
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return yaml_float(value)
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _YAML_WORDS:
        return value
    return None


def _quoted(text: str) -> str:
    """Return text in double quotes, with escapes for all that YAML treats specially."""
    whole = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", whole)


def json_file(values: Mapping[str, Any]) -> bytes:
    """Return a table as the bytes of a JSON file."""
    return json.dumps(plain(values), ensure_ascii=True, indent=2).encode() + b"\n"


def plain(value: Any) -> Any:
    """Return a value of a spec in the types of Python's JSON encoder."""
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        return {key: plain(each) for key, each in held.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("Sequence[Any]", value)]
    return value
