"""Paints rows of a table: each cell in the width of its column, text in its tone."""

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style

from core.text import Shown
from core.views.cells import Bar, Cell, Span, Tone
from tui.panes.columns import PlacedColumn, cell_width
from tui.panes.painted_widget import cut, fitted, width_of

StyleOf = Callable[[str], Style]
"""Returns the style of a tone on the background of the row."""
_UNKNOWN: Cell = (Span(Shown("·"), "dim"),)
_QUIETED = frozenset({"plain", "strong", "key"})


def paint_row(
    cells: Sequence[Sequence[Segment]], places: Sequence[PlacedColumn], width: int, blank: Style
) -> list[Segment]:
    """Join painted cells, one per column, into exactly `width` screen cells."""
    out: list[Segment] = []
    x = 0
    for cell, placed in zip(cells, places, strict=True):
        if placed.x > x:
            out.append(Segment(" " * (placed.x - x), blank))
        out.extend(cell)
        x = placed.x + placed.width
    if x < width:
        out.append(Segment(" " * (width - x), blank))
    return _merged(out)


def paint_titles(
    places: Sequence[PlacedColumn], width: int, style_of: StyleOf, sorted_by: str | None, sign: str
) -> list[Segment]:
    """Return the line of column titles; the sort column gets `sign`."""
    out: list[Segment] = []
    x = 0
    for placed in places:
        if placed.x > x:
            out.append(Segment(" " * (placed.x - x), style_of("dim")))
        is_sorting = placed.column.name == sorted_by
        title = placed.column.title + (sign if is_sorting else "")
        text = cut(title, placed.width)
        room = placed.width - width_of([Segment(text)])
        padded = " " * room + text if placed.column.align == "right" else text + " " * room
        out.append(Segment(padded, style_of("key" if is_sorting else "dim")))
        x = placed.x + placed.width
    return _merged(fitted(out, width, style_of("dim")))


def paint_cell(
    cell: Cell, placed: PlacedColumn, row_tone: Tone, style_of: StyleOf
) -> list[Segment]:
    """Return a cell in exactly the width of its column; an empty cell becomes `·`."""
    cell = cell or _UNKNOWN
    width = placed.width
    bar_room = width - cell_width(cell)
    parts: list[Segment] = []
    for part in cell:
        if isinstance(part, Bar):
            parts.extend(_paint_bar(part, max(bar_room, 0), row_tone, style_of))
        elif part.text:
            parts.append(Segment(part.text, style_of(_toned(part.tone, row_tone))))
    taken = width_of(parts)
    if taken < width and placed.column.align == "right":
        return [Segment(" " * (width - taken), style_of("plain")), *parts]
    return fitted(parts, width, style_of("plain"))


def _toned(tone: Tone, row_tone: Tone) -> Tone:
    """On a dim row, plain and strong text becomes dim too."""
    return "dim" if row_tone == "dim" and tone in _QUIETED else tone


def _paint_bar(bar: Bar, width: int, row_tone: Tone, style_of: StyleOf) -> list[Segment]:
    failed = max(_cells_of(bar.failed, width), 1 if bar.failed > 0 and width else 0)
    done = max(_cells_of(bar.done, width) - failed, 0)
    rest = width - done - failed
    return [
        Segment(text, style)
        for text, style in (
            ("━" * done, style_of(_toned(bar.tone, row_tone))),
            ("━" * failed, style_of("error")),
            ("─" * rest, style_of("frame")),
        )
        if text
    ]


def _cells_of(fraction: float, width: int) -> int:
    return max(0, min(width, int(fraction * width + 0.5)))


def _merged(segments: list[Segment]) -> list[Segment]:
    out: list[Segment] = []
    for segment in segments:
        if out and out[-1].style is segment.style:
            out[-1] = Segment(out[-1].text + segment.text, segment.style)
        else:
            out.append(segment)
    return out
