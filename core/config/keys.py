"""Names of keyboard keys in `[keys]`, and conflicts between actions.

A key is written as a character (`/`, `ctrl+r`) or by its long name (`slash`).
"""

import unicodedata
from collections.abc import Iterator, Mapping

_MODIFIERS = frozenset(("ctrl", "shift", "alt"))
_NAMED = frozenset(
    [
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "pageup",
        "pagedown",
        "insert",
        "delete",
        "backspace",
        "tab",
        "enter",
        "escape",
        "space",
        "comma",
    ]
) | {f"f{number}" for number in range(1, 25)}
_SHORTER = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}


def long_name(char: str) -> str:
    """Return the long name of a character's key: `slash` for `/`, `a` for `a`."""
    if char.isalnum():
        return char
    name = unicodedata.name(char, "").lower().replace("-", "_").replace(" ", "_")
    return _SHORTER.get(name, name)


_PUNCTUATION = frozenset(long_name(chr(code)) for code in range(0x21, 0x7F))


def canonical_keys(keys: str) -> tuple[str, ...] | None:
    """Return the long names of comma-separated keys; None: one of them is not a key."""
    out: list[str] = []
    for key in keys.split(","):
        *modifiers, base = key.strip().split("+") if len(key.strip()) > 1 else [key.strip()]
        base = long_name(base) if len(base) == 1 else base
        if not base or not _MODIFIERS.issuperset(modifiers):
            return None
        if not (base in _NAMED or base in _PUNCTUATION or (len(base) == 1 and base.isprintable())):
            return None
        out.append("+".join((*modifiers, base)))
    return tuple(out)


def conflicts(
    remapped: Mapping[str, str], defaults: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield each remapped action that uses a key of another action, with that other action.

    Args:
        remapped: Keys by action name, from the config.
        defaults: The default keys of every action.
    """
    holders: dict[str, str] = {}
    now = {**defaults, **remapped}
    for action in sorted(now, key=lambda name: name in remapped):
        for key in canonical_keys(now[action]) or ():
            other = holders.setdefault(key, action)
            if other != action and action in remapped:
                yield action, other
                break
