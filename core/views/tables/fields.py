"""Fields: what a column is and how one line fills it; tables are made of them.

Cells are made when they are looked at, so that a table of a thousand tasks costs only as much
as the rows on the screen.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from core.format import sane
from core.text import Shown, shown
from core.views.cells import Cell, Column, Row, SortValue, Table, Tone

LineT = TypeVar("LineT")
KeyT = TypeVar("KeyT")

FieldValue = float | str | None
"""What a line is sorted by in one column; None is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Generic[LineT]):
    """One column, and how a line fills it.

    Attributes:
        cell: What stands there; empty is unknown.
        value: What it is sorted by; None is unknown.
    """

    column: Column
    cell: Callable[[LineT], Cell]
    value: Callable[[LineT], FieldValue]


def field(
    name: str,
    cell: Callable[[LineT], Cell],
    value: Callable[[LineT], FieldValue],
    *,
    title: str | None = None,
    align: Literal["left", "right"] = "left",
    width: int = 4,
    grow: int = 0,
    rank: int = 0,
) -> Field[LineT]:
    """Return a field; its title is its name where none is given."""
    column = Column(
        name=name,
        title=shown(name if title is None else title),
        align=align,
        width=width,
        grow=grow,
        rank=rank,
    )
    return Field(column=column, cell=cell, value=value)


class Fields(Generic[LineT]):
    """The columns of a table, in order."""

    def __init__(self, fields: Sequence[Field[LineT]]) -> None:
        self.columns = tuple(each.column for each in fields)
        self.names = tuple(column.name for column in self.columns)
        self.by_name: Mapping[str, Field[LineT]] = {each.column.name: each for each in fields}

    def row(self, key: KeyT, line: LineT, tone: Tone = "plain") -> Row[KeyT]:
        """Return the row of one line."""
        return Row(key=key, cells=_Cells(self, line), sort=_Sorts(self, line), tone=tone)


class _Lazy(Mapping[str, Cell], Generic[LineT]):
    __slots__ = ("_fields", "_line", "_made")

    def __init__(self, fields: Fields[LineT], line: LineT) -> None:
        self._fields = fields
        self._line = line
        self._made: dict[str, Cell] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields.names)

    def __len__(self) -> int:
        return len(self._fields.names)


class _Cells(_Lazy[LineT]):
    __slots__ = ()

    def __getitem__(self, name: str) -> Cell:
        made = self._made
        if made is None:
            made = self._made = {}
        if name not in made:
            made[name] = self._fields.by_name[name].cell(self._line)
        return made[name]


class _Sorts(Mapping[str, SortValue], Generic[LineT]):
    __slots__ = ("_fields", "_line")

    def __init__(self, fields: Fields[LineT], line: LineT) -> None:
        self._fields = fields
        self._line = line

    def __getitem__(self, name: str) -> SortValue:
        return sort_value(self._fields.by_name[name].value(self._line))

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields.names)

    def __len__(self) -> int:
        return len(self._fields.names)


def sort_value(value: FieldValue) -> SortValue:
    """Return what a value is sorted by: numbers, then words, then the unknown."""
    if isinstance(value, str):
        return (1, value.casefold()) if value else (2, 0)
    number = sane(value)
    return (2, 0) if number is None else (0, number)


def table(
    fields: Fields[LineT],
    rows: Iterable[Row[KeyT]],
    *,
    title: str,
    footer: str = "",
    empty: str = "",
) -> Table[KeyT]:
    """Return a table of these rows, in their order."""
    return Table(
        columns=fields.columns,
        rows=tuple(rows),
        title=shown(title),
        footer=Shown(shown(footer)),
        empty=shown(empty),
    )
