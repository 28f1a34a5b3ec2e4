"""How many cells of a terminal a text takes."""

import unicodedata

_ZERO = {"Mn", "Me", "Mc", "Cf"}
_JOINED = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF), (0x1F3FB, 0x1F3FF))
"""Hangul vowels and final consonants, and skin tones: drawn within the character before."""
_WIDE = ((0x2630, 0x2637), (0x268A, 0x268F), (0x4DC0, 0x4DFF), (0x1D300, 0x1D376))
"""Wide since Unicode 16, which older versions of Python do not know."""


def width_of(text: str) -> int:
    """Return the width of a harmless text in cells, as the room measures it too."""
    if text.isascii():
        return len(text)
    return sum(1 if char.isascii() else _width(char) for char in text)


def _width(char: str) -> int:
    code = ord(char)
    if unicodedata.category(char) in _ZERO or _within(code, _JOINED):
        return 0
    is_wide = unicodedata.east_asian_width(char) in {"W", "F"} or _within(code, _WIDE)
    return 2 if is_wide else 1


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)
