"""Makes text from a host harmless; nothing else does.

Any `str` counts as untrusted. Only a `Shown` may be drawn. `shown` makes one, and so do the
functions of `core.format` and `core.views`. So the type checker finds raw text on its way to the
screen.
"""

import unicodedata
from typing import NewType

Shown = NewType("Shown", str)
"""Text without control, bidirectional or invisible characters, cut to a sane length."""

Untrusted = str
"""Text as a host sent it; it must go through `shown` before it is drawn."""

NAME_LIMIT = 200
"""Characters of the longest name that is shown."""
CONTENT_LIMIT = 4_000
"""Characters of the longest content that is shown."""
_MAX_MARKS = 4


def shown(text: object, limit: int = NAME_LIMIT) -> Shown:
    """Return `text` as one line that is safe to write to a terminal.

    Control characters become their pictures (`␛`). Invisible and bidirectional characters become
    their code point in brackets (`⟦202E⟧`). At most four combining marks in a row are kept.

    Args:
        text: Any value; it is converted with `str`.
        limit: Characters to keep; the number of characters cut is appended (`… +9.9M`).
    """
    return Shown(_harmless(text, limit, lines=False))


def shown_lines(text: object, limit: int = CONTENT_LIMIT) -> Shown:
    """Return `text` as `shown` does, but keep its line ends; a tab becomes four spaces."""
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
