"""The glyphs of states: one character each, with an ASCII replacement.

Tables contain the glyph. In a terminal that shows only ASCII, drawn text goes through `in_ascii`.
"""

from types import MappingProxyType
from typing import Literal

from core.text import Shown

GlyphName = Literal[
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

SIGNS = MappingProxyType[GlyphName, tuple[str, str]](
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
"""By name: the glyph and its ASCII replacement."""

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


def sign(name: GlyphName) -> Shown:
    """Return a glyph by its name."""
    return Shown(SIGNS[name][0])


def in_ascii(text: Shown) -> Shown:
    """Return `text` in ASCII: glyphs as their replacements of one cell, other characters as `?`."""
    if text.isascii():
        return text
    return Shown(text.translate(_TABLE).encode("ascii", "replace").decode("ascii"))
