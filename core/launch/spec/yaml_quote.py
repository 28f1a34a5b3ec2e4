"""Values as the words of `-T`, `-M`, `--metadata` and `--model-role`, which read YAML 1.1.

Inspect reads such a word with YAML, and splits a text at its commas then. What a word can't
carry goes into a file.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*")
_MEANS_MORE = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"}
)
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def yaml_value(value: Any) -> str:
    """Return a value of JSON's as YAML on one line, which reads back as the same."""
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
    """Return a finite number as YAML 1.1 knows it: `1e-05` would be text there."""
    digits, mark, exponent = repr(value).partition("e")
    if not mark:
        return digits
    return f"{digits if '.' in digits else f'{digits}.0'}e{exponent}"


def word_value(value: Any) -> str | None:
    """Return the plain word for a value of an argument; None: it goes into a file."""
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return yaml_float(value)
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _MEANS_MORE:
        return value
    return None


def _quoted(text: str) -> str:
    """Return a text between double quotes, everything that YAML minds escaped."""
    whole = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", whole)


def json_file(values: Mapping[str, Any]) -> bytes:
    """Return a table of values as the bytes of a JSON file."""
    return json.dumps(plain(values), ensure_ascii=True, indent=2).encode() + b"\n"


def plain(value: Any) -> Any:
    """Return a value of a spec in the types that JSON's encoder knows."""
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        return {key: plain(each) for key, each in held.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("Sequence[Any]", value)]
    return value
