"""The data that a pane draws: tables, columns, rows, cells, spans of text.

A cell holds text and a tone; the pane decides the colour and the width. Text is `Shown`, so it is
harmless by type.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from core.format import count, sane
from core.text import NAME_LIMIT, Shown, shown

Tone = Literal["plain", "dim", "strong", "good", "warning", "error", "key"]
"""good: healthy; warning: check it; error: act on it; key: a key or a command.
plain, dim and strong are greys."""

KeyT = TypeVar("KeyT")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text in one tone."""

    text: Shown
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar as wide as its column; `done` and, within it, `failed` are fractions from 0 to 1."""

    done: float
    failed: float = 0.0
    tone: Tone = "good"


TextLine = tuple[Span, ...]
"""One line of text."""

Cell = tuple[Span | Bar, ...]
"""The content of one column of a row; empty means unknown and is drawn as a dot."""

UNKNOWN: Cell = ()
"""An unknown value; drawn as a dot, never as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its name in the config and when sorting.
        title: Its heading.
        align: Left for names, right for numbers.
        width: Minimum width, terminal cells.
        grow: Its share of spare width; 0: none.
        rank: When the pane is too narrow, columns of the highest rank are left out first.
    """

    name: str
    title: Shown
    align: Literal["left", "right"] = "left"
    width: int = 4
    grow: int = 0
    rank: int = 0


SortValue = tuple[int, float | str]
"""(0, number) or (1, text) for a known value; (2, 0) for an unknown one, which sorts last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Generic[KeyT]):
    """One line of a table.

    Attributes:
        key: The key of its subject; a refresh finds the row again by it.
        cells: Its cells by column name; a missing one is unknown. Computed on access.
        sort: Its sort values by column name. Computed on access.
        tone: The tone of the whole line: `dim` if its subject has ended or its data is old.
    """

    key: KeyT
    cells: Mapping[str, Cell]
    sort: Mapping[str, SortValue]
    tone: Tone = "plain"

    @property
    def search(self) -> str:
        """All its text in lower case, for the filter."""
        texts = (
            span.text for cell in self.cells.values() for span in cell if isinstance(span, Span)
        )
        return " ".join(texts).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[KeyT]):
    """The content of a pane with a table.

    Attributes:
        columns: Its columns, in order.
        rows: Its rows, in order.
        title: The title in the upper edge, after the pane's digit.
        footer: The counts in the lower edge.
        empty: Why the table has no rows; shown in their place.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row[KeyT], ...]
    title: Shown
    footer: Shown = Shown("")
    empty: Shown = Shown("")


def text_cell(value: object, tone: Tone = "plain", limit: int = NAME_LIMIT) -> Cell:
    """Return a cell with untrusted text, made harmless; unknown if it is None or empty."""
    if value is None or value == "":
        return UNKNOWN
    return (Span(shown(value, limit), tone),)


def span_of(words: str, tone: Tone = "plain") -> Span:
    """Return a span with a text of evalroom's own, or with a formatted number."""
    return Span(shown(words), tone)


def count_cell(value: float | None, tone: Tone = "plain", zero: Tone | None = None) -> Cell:
    """Return a cell with a count; unknown if it is None. `zero` is the tone of 0."""
    number = sane(value)
    if number is None:
        return UNKNOWN
    return (Span(count(number), tone if number or zero is None else zero),)
