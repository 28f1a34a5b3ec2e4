"""The signs beside every state: one character each, with a twin in ASCII.

Tables hold the first form. Where the terminal shows ASCII alone, what is drawn goes through
`in_ascii`.
"""

from types import MappingProxyType
from typing import Literal

from core.text import Shown

Name = Literal[
    "live",
    "lagging",
    "down",
    "ask",
    "run",
    "hold",
    "finishing",
    "success",
    "failed",
    "cancelled",
    "lost",
    "unknown",
    "parked",
    "starved",
    "mark",
    "wait",
    "production",
    "read-only",
]

SIGNS = MappingProxyType[Name, tuple[str, str]](
    {
        "live": ("●", "*"),
        "lagging": ("◐", "~"),
        "down": ("○", "o"),
        "ask": ("◆", "#"),
        "run": ("▶", ">"),
        "hold": ("‖", "="),
        "finishing": ("◇", "~"),
        "success": ("✓", "+"),
        "failed": ("✗", "x"),
        "cancelled": ("□", "-"),
        "lost": ("!", "!"),
        "unknown": ("?", "?"),
        "parked": ("■", "#"),
        "starved": ("▲", "^"),
        "mark": ("▌", "|"),
        "wait": ("∙", "."),
        "production": ("◈", "%"),
        "read-only": ("⊘", "/"),
    }
)
"""By name: the sign, and its twin in ASCII."""

_OTHER = {
    "·": ".",
    "±": "~",
    "\u00d7": "x",
    "…": "~",
    "→": ">",
    "█": "#",
    "━": "=",
    "─": "-",
    "│": "|",
    "\u2013": "-",
    "—": "-",
    "▏": "|",
    "▎": "|",
    "▍": "|",
    "▋": "#",
    "▊": "#",
    "▉": "#",
    "↑": "^",
    "↓": "v",
    "⟦": "[",
    "⟧": "]",
}
_TABLE = str.maketrans({**_OTHER, **dict(SIGNS.values())})


def sign(name: Name) -> Shown:
    """Return a sign by its name."""
    return Shown(SIGNS[name][0])


def in_ascii(text: Shown) -> Shown:
    """Return `text` in ASCII: our signs as their twins of one cell, all else as `?`."""
    if text.isascii():
        return text
    return Shown(text.translate(_TABLE).encode("ascii", "replace").decode("ascii"))
