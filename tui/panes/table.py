"""A pane that draws any `core.views.cells.Table`.

Only visible rows are painted. Rows are matched by their keys, so cursor, scroll, sort and marks
stay with their rows when the table changes.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from rich.segment import Segment
from textual import events
from textual.message import Message

from core.text import Shown, shown
from core.views.cells import Row, Span, Table
from tui.app_access import app_of
from tui.arrangement import Arrangement, arranged, visible_columns
from tui.keys.bindings import bindings
from tui.panes.painted_widget import Line, fitted
from tui.panes.pane import FRAME, Pane
from tui.panes.row_cache import RowCache, RowDecoration
from tui.panes.row_painter import paint_titles

_MEASURED = 300
"""The widths of columns are measured on at most this many rows of a new table."""
_NOTHING: Table[Any] = Table(columns=(), rows=(), title=Shown(""))


class TablePane(Pane):
    """A table with a cursor.

    Args:
        digit: The digit of the pane.
        id: Its id.
        has_titles: Whether the titles of the columns are shown.
        keeps_top: Whether its first rows stay in view while another pane is the current one:
            new rows at the top then push no row out of sight. No other pane may depend on its
            cursor, which stays on the first row if it is there.
    """

    BINDINGS = bindings("list", "table")

    @dataclass
    class CursorMoved(Message):
        """The cursor moved to another row."""

        pane: "TablePane"

    @dataclass
    class RowOpened(Message):
        """The row under the cursor was opened."""

        pane: "TablePane"
        key: Hashable

    @dataclass
    class Arranged(Message):
        """Sort, filter or columns changed."""

        pane: "TablePane"

    def __init__(
        self,
        digit: str,
        *,
        id: str,  # noqa: A002
        has_titles: bool = True,
        keeps_top: bool = False,
    ) -> None:
        super().__init__(digit, id=id)
        self._titles = 1 if has_titles else 0
        self._keeps_top = keeps_top
        self.table: Table[Any] = _NOTHING
        self.rows: tuple[Row[Any], ...] = ()
        self.arrangement = Arrangement()
        self.marks: set[Hashable] = set()
        self.top = 0
        """Index of the first visible row."""
        self._cursor_key: Hashable | None = None
        self.cursor = 0
        """Index of the row under the cursor."""
        self._sheet = RowCache(self.style_of)
        self._about: object = None
        self._wanted: Hashable | None = None

    # Content

    def show(self, table: Table[Any], *, context: object = None) -> None:
        """Replace the table.

        Args:
            table: The new table.
            context: The subject of the table. While it stays equal, cursor, scroll, marks and
                widths are kept; when it changes, they are reset.
        """
        if context != self._about:
            self._about = context
            self._cursor_key, self.cursor, self.top = None, 0, 0
            self._sheet.forget()
            self.marks.clear()
        self.table = table
        self._reconcile()

    def rearrange(self, arrangement: Arrangement) -> None:
        """Set sort, filter and columns."""
        if arrangement != self.arrangement:
            self.arrangement = arrangement
            self._reconcile()
            self.post_message(self.Arranged(self))

    @property
    def filter_text(self) -> str:
        """The filter; empty for none."""
        return self.arrangement.filter

    def filter_by(self, text: str) -> None:
        """Show only the rows that match this filter."""
        self.rearrange(replace(self.arrangement, filter=text))

    @property
    def cursor_key(self) -> Hashable | None:
        """The key of the row under the cursor; None if the table is empty."""
        return self.rows[self.cursor].key if self.rows else None

    @property
    def chosen_keys(self) -> tuple[Hashable, ...]:
        """The keys of the marked rows in order, or of the one under the cursor."""
        marked = tuple(row.key for row in self.rows if row.key in self.marks)
        if marked:
            return marked
        return () if self.cursor_key is None else (self.cursor_key,)

    @property
    def wanted_height(self) -> int:
        """Height that shows all rows, with titles and frame."""
        return max(len(self.rows), 1) + (self._titles if self.rows else 0) + FRAME

    @property
    def wanted_width(self) -> int:
        """Width that shows all columns at their natural widths, with the frame."""
        columns = visible_columns(self.table, self.arrangement)
        self._sheet.measure(columns, self.rows[: self._row_space or _MEASURED])
        sizes = [self._sheet.widths[column.name] for column in columns]
        return sum(sizes) + 2 * len(sizes) + FRAME

    @property
    def left_out(self) -> frozenset[str]:
        """Names of the chosen columns that did not fit when last drawn."""
        placed = {place.column.name for place in self._sheet.places}
        wanted = visible_columns(self.table, self.arrangement)
        return frozenset(each.name for each in wanted if placed and each.name not in placed)

    def want(self, key: Hashable | None) -> None:
        """Move the cursor to the row of this key once it appears, unless it is moved before."""
        self._wanted = key

    def move_to(self, key: Hashable) -> bool:
        """Move the cursor to the row of this key; return False if no row has it."""
        for index, row in enumerate(self.rows):
            if row.key == key:
                self._move(index)
                return True
        return False

    def make_current(self, is_current: bool) -> None:
        """Draw it as the current pane, or not; the current pane has its cursor in view."""
        super().make_current(is_current)
        self._settle()

    # Painting

    def title_text(self) -> Shown:
        """Return the table's title."""
        return self.table.title

    def title_more(self) -> tuple[Span, ...]:
        """Return the filter, if there is one."""
        if not self.arrangement.filter:
            return ()
        return (Span(Shown("  /")), Span(shown(self.arrangement.filter), "key"))

    def footer_spans(self) -> tuple[Span, ...]:
        """Return the visible range of rows, the number of marks, and the table's own footer."""
        parts: list[Span] = []
        height = self._row_space
        if len(self.rows) > height > 0:
            last = min(self.top + height, len(self.rows))
            parts.append(Span(Shown(f"{self.top + 1}-{last} of {len(self.rows)}"), "plain"))
        elif self.arrangement.filter:
            parts.append(Span(Shown(f"{len(self.rows)} of {len(self.table.rows)} match"), "plain"))
        if self.marks:
            parts.append(Span(Shown(f"{len(self.marks)} marked"), "key"))
        if self.table.footer:
            parts.append(Span(self.table.footer, "dim"))
        dot = Span(Shown(" · "), "dim")
        return tuple(span for part in parts for span in (dot, part))[1:]

    def body(self, width: int, height: int) -> list[Line]:
        """Return the titles and the visible rows."""
        if not self.rows:
            return self._empty(width)
        columns = visible_columns(self.table, self.arrangement)
        if not self._sheet.widths:
            self._sheet.measure(columns, self.rows[:_MEASURED])
        last = self.top + height - self._titles
        visible = [
            (row, self._setting(row, index == self.cursor))
            for index, row in enumerate(self.rows[self.top : last], start=self.top)
        ]
        rows = self._sheet.lines(columns, visible, width)
        if not self._titles:
            return rows
        sign = "▾" if self.arrangement.is_reversed else "▴"
        titles = paint_titles(
            self._sheet.places, width - 1, self.style_of, self.arrangement.sort, sign
        )
        return [(Segment(" ", self.base_style), *titles), *rows]

    def _setting(self, row: Row[Any], is_cursor: bool) -> RowDecoration:
        ground = ("cursor" if self.is_current else "unfocused") if is_cursor else None
        if row.key in self.marks:
            return RowDecoration(ground, "▪", "key")
        needs_sign = is_cursor and app_of(self).native_ansi_color
        return RowDecoration(ground, "▸" if needs_sign else " ", "dim")

    def _empty(self, width: int) -> list[Line]:
        why = self.table.empty
        if self.table.rows and self.arrangement.filter:
            why = Shown("nothing matches the filter; Esc clears it")
        text = [Segment(" "), Segment(why, self.style_of("dim"))]
        return [tuple(fitted(text, width, self.base_style))]

    # Reconciling

    @property
    def _row_space(self) -> int:
        return max(self.body_size.height - self._titles, 0)

    def _reconcile(self) -> None:
        self.rows = arranged(self.table, self.arrangement)
        before, offset = self._cursor_key, self.cursor - self.top
        if self._holds_top and self.cursor == 0:
            self._cursor_key = None
        if self._wanted is not None and any(row.key == self._wanted for row in self.rows):
            self._cursor_key, self._wanted, offset = self._wanted, None, 0
        if self.marks:
            self.marks &= {row.key for row in self.table.rows}
        self._find_cursor(offset)
        if self._cursor_key != before:
            self.post_message(self.CursorMoved(self))
        self.redraw()

    def _find_cursor(self, offset: int) -> None:
        """Keep the cursor on its row; if the row is gone, on its index."""
        found = next(
            (index for index, row in enumerate(self.rows) if row.key == self._cursor_key), None
        )
        self.cursor = max(0, min(self.cursor, len(self.rows) - 1)) if found is None else found
        self._cursor_key = self.cursor_key
        if self.top:
            self.top = self.cursor - offset
        self._settle()

    @property
    def _holds_top(self) -> bool:
        return self._keeps_top and not self.is_current and self.top == 0

    def _settle(self) -> None:
        if not self._holds_top:
            self._keep_in_view()

    def _keep_in_view(self) -> None:
        space = self._row_space
        if space <= 0:
            return
        if self.cursor < self.top:
            self.top = self.cursor
        elif self.cursor >= self.top + space:
            self.top = self.cursor - space + 1
        self.top = max(0, min(self.top, len(self.rows) - space))

    def _move(self, index: int) -> None:
        self._wanted = None
        if not self.rows:
            return
        self.cursor = max(0, min(index, len(self.rows) - 1))
        self._keep_in_view()
        if self.cursor_key != self._cursor_key:
            self._cursor_key = self.cursor_key
            self.post_message(self.CursorMoved(self))
        self.redraw()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._settle()
        super().on_resize()

    def notify_style_update(self) -> None:
        """Paint every row in the new colours."""
        self._sheet.forget_lines()
        super().notify_style_update()

    # Keys

    def action_down(self) -> None:
        """Move one row down."""
        self._move(self.cursor + 1)

    def action_up(self) -> None:
        """Move one row up."""
        self._move(self.cursor - 1)

    def action_page_down(self) -> None:
        """Move a page down."""
        self._move(self.cursor + max(self._row_space - 1, 1))

    def action_page_up(self) -> None:
        """Move a page up."""
        self._move(self.cursor - max(self._row_space - 1, 1))

    def action_first(self) -> None:
        """Move to the first row."""
        self._move(0)

    def action_last(self) -> None:
        """Move to the last row."""
        self._move(len(self.rows) - 1)

    def action_open(self) -> None:
        """Open the row under the cursor."""
        key = self.cursor_key
        if key is not None:
            self.post_message(self.RowOpened(self, key))

    def action_mark(self) -> None:
        """Mark or unmark the row under the cursor, and move to the next."""
        key = self.cursor_key
        if key is not None:
            self.marks ^= {key}
            self._move(self.cursor + 1)
            self.post_message(self.CursorMoved(self))

    def action_mark_all(self) -> None:
        """Mark all rows shown; if all are marked, remove all marks."""
        shown_now = {row.key for row in self.rows}
        self.marks = set() if shown_now <= self.marks else self.marks | shown_now
        self.redraw()
        self.post_message(self.CursorMoved(self))

    def action_reverse(self) -> None:
        """Reverse the sort order."""
        self.rearrange(replace(self.arrangement, is_reversed=not self.arrangement.is_reversed))

    # Mouse

    def on_mouse_scroll_down(self) -> None:
        """Move down."""
        self._move(self.cursor + 3)

    def on_mouse_scroll_up(self) -> None:
        """Move up."""
        self._move(self.cursor - 3)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the row; a double click opens it."""
        self.focus()
        line = event.y - 1 - self._titles
        index = self.top + line
        if 0 <= index < len(self.rows) and line >= 0:
            self._move(index)
            if event.chain == 2:  # noqa: PLR2004 - a double click
                self.action_open()
