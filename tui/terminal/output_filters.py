"""The last filters for every line before it is written to the terminal.

Text from hosts is made harmless when it is decoded (`core.text`). If raw text reaches a widget
anyway, its control characters are replaced here. In ASCII mode all other characters are replaced by
similar ones of the same width.
"""

from collections.abc import Sequence
from unicodedata import category

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from core.views.glyphs import GLYPHS


class JoinedFilter(LineFilter):
    """Applies filters one after the other.

    Textual keeps each line once more for each of its filters; so it keeps it once more in all.
    """

    def __init__(self, filters: Sequence[LineFilter]) -> None:
        super().__init__()
        self.filters = tuple(filters)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments as the last filter leaves them."""
        for each in self.filters:
            segments = each.apply(segments, background)
        return segments


class HarmlessFilter(LineFilter):
    """Replaces control characters in the text of segments."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """Return the segments without control characters."""
        if all(_is_harmless(text) for text, _, _ in segments):
            return segments
        return [
            segment if control or _is_harmless(text) else Segment(_of_same_width(text), style)
            for segment in segments
            for text, style, control in (segment,)
        ]


class AsciiFilter(LineFilter):
    """Replaces every character outside ASCII by one of the same width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """Return the segments in ASCII."""
        return [
            segment if control or text.isascii() else Segment(to_ascii(text), style)
            for segment in segments
            for text, style, control in (segment,)
        ]


def to_ascii(text: str) -> str:
    """Return `text` in ASCII, with the same width in cells."""
    return "".join(
        char if char.isascii() else _SIGNS.get(char) or "?" * cell_len(char) for char in text
    )


def _is_harmless(text: str) -> bool:
    return text.isprintable()


def _of_same_width(text: str) -> str:
    return "".join(char if _may_pass(char) else "?" * cell_len(char) for char in text)


def _may_pass(char: str) -> bool:
    return char.isprintable() or category(char) == "Zs"


_SIGNS = {
    **{sign: plain for sign, plain in GLYPHS.values() if len(plain) == 1},
    **dict.fromkeys("─╌╴╶╸╺┄", "-"),
    **dict.fromkeys("━═", "="),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝", "+"),
    **dict.fromkeys("█▉▊▋▌▍▇▆", "#"),
    **dict.fromkeys("▅▄▃", "="),
    **dict.fromkeys("▂▁▎▏", "_"),
    **dict.fromkeys("░▒▓", ":"),
    **dict.fromkeys("▔▀▐▕", "|"),
    "◌": ".",
    "▸": ">",
    "▷": ">",
    "▪": "*",
    "⏸": "=",
    "\u00d7": "x",
    "·": ".",
    "…": "~",
    "→": ">",
    "←": "<",
    "↑": "^",
    "↓": "v",
    "▾": "v",
    "▴": "^",
    "▼": "v",
    "±": "~",
    "—": "-",
    "\u2013": "-",
    "\u2019": "'",
    "⚠": "!",
    "␛": "^",
    "⟦": "[",
    "⟧": "]",
}
