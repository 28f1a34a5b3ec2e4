"""The last look at every line before it is written to the terminal.

Text of hosts is made harmless where it is decoded (`core.text`). Should a raw one slip through
to a widget all the same, its control characters die here; and with ASCII every other character
becomes its nearest sign of the same width.
"""

from unicodedata import category

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from core.views.glyphs import SIGNS


class HarmlessFilter(LineFilter):
    """Replaces what a terminal would act on inside the text of segments."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """Return the segments with every character harmless."""
        if all(_is_harmless(text) for text, _, _ in segments):
            return segments
        return [
            segment if control or _is_harmless(text) else Segment(_of_same_width(text), style)
            for segment in segments
            for text, style, control in (segment,)
        ]


class AsciiFilter(LineFilter):
    """Replaces every character outside ASCII by a sign as wide as itself."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """Return the segments in ASCII."""
        return [
            segment if control or text.isascii() else Segment(to_ascii(text), style)
            for segment in segments
            for text, style, control in (segment,)
        ]


def to_ascii(text: str) -> str:
    """Return `text` in ASCII, as wide in cells as before."""
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
    **{sign: plain for sign, plain in SIGNS.values() if len(plain) == 1},
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
