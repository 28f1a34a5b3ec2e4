"""The glyphs of states: one character each, with an ASCII replacement.

Tables contain the glyph. A terminal that shows only ASCII draws the replacement.
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
    "wait",
    "production",
    "read-only",
]

GLYPHS = MappingProxyType[GlyphName, tuple[str, str]](
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
        "wait": ("∙", "."),
        "production": ("◈", "%"),
        "read-only": ("⊘", "/"),
    }
)
"""By name: the glyph and its ASCII replacement."""


def glyph(name: GlyphName) -> Shown:
    """Return a glyph by its name."""
    return Shown(GLYPHS[name][0])
