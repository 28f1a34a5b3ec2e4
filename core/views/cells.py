"""What a pane is given to draw: columns, rows and cells, without any look.

A cell says *what* (text and tone); the pane decides colour and width. Text is `Shown`, so it
is harmless by type.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from core.format import count, sane
from core.text import NAME_LIMIT, Shown, shown

Tone = Literal["plain", "dim", "strong", "good", "look", "hand", "key"]
"""plain and dim are the two greys; good lives, look wants a look, hand wants a hand."""

KeyT = TypeVar("KeyT")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text in one tone."""

    text: Shown
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar drawn as wide as its column allows: fractions 0-1 of what is done and failed."""

    done: float
    failed: float = 0.0
    tone: Tone = "good"


TextLine = tuple[Span, ...]
"""One line of text."""

Cell = tuple[Span | Bar, ...]
"""What stands in one column of a row; empty is unknown and drawn as a dot."""

UNKNOWN: Cell = ()
"""Drawn as a dot; never 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its word in configs, filters and sorts.
        title: Over it.
        align: Names left, numbers right.
        width: Cells it takes at least.
        grow: Share of left-over room, 0 for none.
        rank: Columns of a higher rank are left out first when room is short.
    """

    name: str
    title: Shown
    align: Literal["left", "right"] = "left"
    width: int = 4
    grow: int = 0
    rank: int = 0


SortValue = tuple[int, float | str]
"""(0, number) or (1, word) for known values, (2, 0) for unknown ones, which come last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Generic[KeyT]):
    """One line of a table.

    Attributes:
        key: What it is about; rows are reconciled by it.
        cells: By column name; a missing one is unknown. Made when looked at.
        sort: By column name. Made when looked at.
        tone: Of the whole line: `dim` for aged and ended ones.
    """

    key: KeyT
    cells: Mapping[str, Cell]
    sort: Mapping[str, SortValue]
    tone: Tone = "plain"

    @property
    def search(self) -> str:
        """All its text in one, lower case, for the filter."""
        texts = (
            span.text for cell in self.cells.values() for span in cell if isinstance(span, Span)
        )
        return " ".join(texts).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[KeyT]):
    """A pane's content: rows in their order, and what stands in its frame.

    Attributes:
        empty: Why there is nothing, when there are no rows.
        title: After the pane's digit.
        footer: Counts, in the lower edge.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row[KeyT], ...]
    title: Shown
    footer: Shown = Shown("")
    empty: Shown = Shown("")


def text_cell(value: object, tone: Tone = "plain", limit: int = NAME_LIMIT) -> Cell:
    """Return a cell with untrusted text in it; unknown where there is none."""
    if value is None or value == "":
        return UNKNOWN
    return (Span(shown(value, limit), tone),)


def said(words: str, tone: Tone = "plain") -> Span:
    """Return words of our own, or numbers formatted by us, in a tone."""
    return Span(shown(words), tone)


def count_cell(value: float | None, tone: Tone = "plain", zero: Tone | None = None) -> Cell:
    """Return a cell with a count; unknown where there is none; `zero` is the tone of 0."""
    number = sane(value)
    if number is None:
        return UNKNOWN
    return (Span(count(number), tone if number or zero is None else zero),)
