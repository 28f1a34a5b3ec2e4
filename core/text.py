"""Text from a host is made harmless here, and only here.

Any `str` counts as untrusted. What may be drawn is a `Shown`: made by `shown`, or by one of
the formatting functions of `core.views`. A type checker then finds every raw text on its way
to the screen.
"""

import unicodedata
from typing import NewType

Shown = NewType("Shown", str)
"""Text without a control, bidi or invisible character, cut to a sane length."""

Untrusted = str
"""A text as a host sent it; the name marks what still has to go through `shown`."""

NAME_LIMIT = 200
"""Longest name that is shown, characters."""
CONTENT_LIMIT = 4_000
"""Longest content that is shown, characters."""
_MAX_MARKS = 4


def shown(text: object, limit: int = NAME_LIMIT) -> Shown:
    """Return `text` as one line that no terminal acts on.

    Controls become their pictures (`␛`), invisible and bidirectional characters their code
    point in brackets (`⟦202E⟧`); at most four combining marks stand in a row.

    Args:
        text: Anything; what is no text is converted first.
        limit: Characters kept; what is cut is counted (`… +9.9M`).
    """
    return Shown(_harmless(text, limit, lines=False))


def shown_lines(text: object, limit: int = CONTENT_LIMIT) -> Shown:
    """Return `text` harmless with its line ends and tabs (as spaces) kept."""
    return Shown(_harmless(text, limit, lines=True))


def _harmless(text: object, limit: int, *, lines: bool) -> str:
    raw = text if isinstance(text, str) else str(text)
    cut = raw[:limit]
    if not (cut.isascii() and cut.isprintable()):
        cut = _rewritten(cut, lines=lines)
    if len(raw) > limit:
        cut += f"… +{_short(len(raw) - limit)}"
    return cut


def _rewritten(text: str, *, lines: bool) -> str:
    out: list[str] = []
    marks = 0
    for char in text:
        if lines and char in "\n\t":
            out.append("\n" if char == "\n" else "    ")
            marks = 0
            continue
        category = unicodedata.category(char)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks > _MAX_MARKS:
            continue
        out.append(_picture(char, category))
    return "".join(out)


_INVISIBLE = frozenset(
    (
        0x034F,
        0x115F,
        0x1160,
        0x3164,
        0xFFA0,
        0x17B4,
        0x17B5,
        0x2800,
        0xFFFC,
        *range(0xFE00, 0xFE10),
    )
)


def _picture(char: str, category: str) -> str:
    code = ord(char)
    if code < 0x20:  # noqa: PLR2004 - the C0 controls
        return chr(0x2400 + code)
    if code == 0x7F:  # noqa: PLR2004 - DEL
        return "␡"
    if category in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or code in _INVISIBLE:
        return f"⟦{code:04X}⟧"
    return char


def _short(count: int) -> str:
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
