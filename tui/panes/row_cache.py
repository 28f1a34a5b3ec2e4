"""A cache of painted table rows.

Most rows are the same after a refresh. The cache keeps painted lines by the key of their row, and
measures and paints only rows whose cells changed.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from rich.segment import Segment
from rich.style import Style

from core.views.cells import Cell, Column, Row, Tone
from tui.panes.columns import PlacedColumn, natural_widths, place
from tui.panes.painted_widget import Line
from tui.panes.row_painter import paint_cell, paint_row

_KEPT = 400
"""Above this many painted rows the cache is emptied."""

_KEPT_CELLS = 4_000

_MEASURED_AGAIN_S = 30.0
"""While a column is left out, the rows are measured again after this time: it may fit again."""


@dataclass(frozen=True, slots=True)
class RowDecoration:
    """The background of a row, and the sign in its margin."""

    ground: str | None
    margin: str
    margin_tone: str


@dataclass(slots=True)
class _Painted:
    cells: tuple[Cell, ...]
    tone: Tone
    setting: RowDecoration
    line: Line


@dataclass(slots=True)
class RowCache:
    """Column widths, positions and painted lines of one table.

    Attributes:
        widths: Natural width of each column in cells. It grows; it shrinks only where a column
            that was left out then fits again.
        places: The columns with their current positions.
    """

    style_of: Callable[[str, str | None], Style]
    clock: Callable[[], float] = monotonic
    widths: dict[str, int] = field(default_factory=dict[str, int])
    places: tuple[PlacedColumn, ...] = ()
    _columns: tuple[Column, ...] = ()
    _width: int = 0
    _measured_at: float = 0.0
    _rows: dict[Hashable, _Painted] = field(default_factory=dict[Hashable, _Painted])
    _painted_cells: dict[Hashable, Sequence[Segment]] = field(
        default_factory=dict[Hashable, Sequence[Segment]]
    )

    def forget(self) -> None:
        """Forget widths and lines: the table is another one."""
        self.widths = {}
        self.forget_lines()

    def forget_lines(self) -> None:
        """Forget the painted lines: the colours changed."""
        self._rows = {}
        self._painted_cells = {}
        self._columns = ()

    def measure(self, columns: tuple[Column, ...], rows: Iterable[Row[Any]]) -> None:
        """Widen the columns for these rows."""
        self.widths = natural_widths(columns, rows, self.widths)

    def lines(
        self,
        columns: tuple[Column, ...],
        rows: Sequence[tuple[Row[Any], RowDecoration]],
        width: int,
    ) -> list[Line]:
        """Return the rows as lines of `width` cells, including the margin of one cell."""
        if columns != self._columns or width != self._width:
            self._columns, self._width, self._rows = columns, width, {}
            self.measure(columns, (row for row, _ in rows))
            self.places = place(columns, self.widths, width - 1)
            self._measured_at = self.clock()
        elif len(self.places) < len(columns):
            self._fit_more([row for row, _ in rows])
        cells = [self._cells(row) for row, _ in rows]
        if self._grows(rows, cells):
            self.places = place(columns, self.widths, width - 1)
            self._rows = {}
            cells = [self._cells(row) for row, _ in rows]
        if len(self._rows) > _KEPT:
            self._rows = {}
        return [
            self._line(row, setting, read) for (row, setting), read in zip(rows, cells, strict=True)
        ]

    def _fit_more(self, rows: Sequence[Row[Any]]) -> None:
        """Show the columns that were left out for the width of cells that are gone since."""
        now = self.clock()
        if now - self._measured_at < _MEASURED_AGAIN_S:
            return
        self._measured_at = now
        widths = natural_widths(self._columns, rows, {})
        places = place(self._columns, widths, self._width - 1)
        if len(places) > len(self.places):
            self.widths, self.places, self._rows = widths, places, {}

    def _cells(self, row: Row[Any]) -> tuple[Cell, ...]:
        return tuple(row.cells.get(placed.column.name, ()) for placed in self.places)

    def _grows(
        self, rows: Sequence[tuple[Row[Any], RowDecoration]], cells: Sequence[tuple[Cell, ...]]
    ) -> bool:
        changed = [
            row
            for (row, _), read in zip(rows, cells, strict=True)
            if (before := self._rows.get(row.key)) is None or before.cells != read
        ]
        if not changed:
            return False
        widths = natural_widths([placed.column for placed in self.places], changed, self.widths)
        grown = {name: size for name, size in widths.items() if size > self.widths.get(name, 0)}
        self.widths.update(grown)
        return bool(grown)

    def _line(self, row: Row[Any], setting: RowDecoration, cells: tuple[Cell, ...]) -> Line:
        kept = self._rows.get(row.key)
        if (
            kept is not None
            and kept.setting == setting
            and kept.tone == row.tone
            and kept.cells == cells
        ):
            return kept.line

        def style_of(tone: str) -> Style:
            return self.style_of(tone, setting.ground)

        margin = Segment(setting.margin, style_of(setting.margin_tone))
        painted = [
            self._cell(cell, placed, row.tone, setting.ground)
            for cell, placed in zip(cells, self.places, strict=True)
        ]
        width = self._width - 1
        line = (margin, *paint_row(painted, self.places, width, style_of("plain")))
        self._rows[row.key] = _Painted(cells, row.tone, setting, line)
        return line

    def _cell(
        self, cell: Cell, placed: PlacedColumn, tone: Tone, ground: str | None
    ) -> Sequence[Segment]:
        key = (cell, placed.width, placed.column.align, tone, ground)
        kept = self._painted_cells.get(key)
        if kept is None:
            if len(self._painted_cells) > _KEPT_CELLS:
                self._painted_cells = {}
            kept = paint_cell(cell, placed, tone, lambda name: self.style_of(name, ground))
            self._painted_cells[key] = kept
        return kept
