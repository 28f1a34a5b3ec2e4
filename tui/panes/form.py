"""The pane of a form: rows of label, value and note, with a cursor."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from textual import events
from textual.message import Message

from core.text import Shown
from core.views.cells import Span
from core.views.launch.launch_form import FormRow, columns_of
from tui.panes.painted_widget import Line, fitted
from tui.panes.pane import FRAME, Pane

_SIGN = 2
"""Cells before a label: the cursor and the row's sign."""
_GAP = 2
_VALUE_LEAST, _VALUE_MOST = 24, 60
_VALUE_SHARE = 0.42


class FormPane(Pane):
    """Rows to fill in. The input of the form lies over the value of the current row."""

    @dataclass
    class FieldMoved(Message):
        """The cursor moved to another row."""

        pane: "FormPane"

    class ValueMoved(Message):
        """The pane was resized, so the current value has another position."""

    def __init__(self) -> None:
        super().__init__("", id="form")
        self.can_focus = False
        self.rows: tuple[FormRow, ...] = ()
        self.cursor = 0
        self.top = 0
        self._title = Shown("")
        self._footer: tuple[Span, ...] = ()

    def show(self, title: Shown, rows: Sequence[FormRow], footer: Sequence[Span]) -> None:
        """Draw these rows; the cursor stays with its row."""
        name = self.row.name if self.rows else ""
        self._title, self.rows, self._footer = title, tuple(rows), tuple(footer)
        found = next(
            (at for at, row in enumerate(self.rows) if row.name and row.name == name), None
        )
        self.cursor = self._allowed(self.cursor) if found is None else found
        self._keep_in_view()
        self.redraw()

    @property
    def row(self) -> FormRow:
        """The row under the cursor."""
        return self.rows[self.cursor]

    def move(self, by: int) -> None:
        """Move the cursor to the next or previous row that is not a heading."""
        at = self.cursor
        while 0 <= at + by < len(self.rows):
            at += by
            if not self.rows[at].is_heading:
                self._go(at)
                return

    def move_section(self, by: int) -> None:
        """Move to the first row of the next or previous section."""
        heads = [at for at, row in enumerate(self.rows) if row.is_heading]
        here = max((at for at in heads if at < self.cursor), default=0)
        first_here = self.cursor == here + 1
        if by > 0:
            wanted = next((at for at in heads if at > self.cursor), None)
        elif first_here:
            wanted = max((at for at in heads if at < here), default=None)
        else:
            wanted = here
        if wanted is not None:
            self._go(wanted + 1)

    def move_to(self, name: str) -> bool:
        """Move the cursor to the row of this name; return False if no row has it."""
        found = next((at for at, row in enumerate(self.rows) if row.name == name), None)
        if found is not None:
            self._go(found)
        return found is not None

    def _go(self, at: int) -> None:
        self.cursor = at
        self._keep_in_view()
        self.redraw()
        self.post_message(self.FieldMoved(self))

    def _allowed(self, at: int) -> int:
        at = max(0, min(at, len(self.rows) - 1))
        return at + 1 if self.rows and self.rows[at].is_heading else at

    def _keep_in_view(self) -> None:
        space = self.body_size.height
        if space <= 0:
            return
        # Scrolling to a section's first row shows its heading too.
        first = self.cursor - 1 if self.cursor and self.rows[self.cursor - 1].is_heading else None
        if (self.cursor if first is None else first) < self.top:
            self.top = self.cursor if first is None else first
        elif self.cursor >= self.top + space:
            self.top = self.cursor - space + 1
        self.top = max(0, min(self.top, len(self.rows) - space))

    # Position of the input

    @property
    def value_at(self) -> tuple[int, int, int]:
        """Position of the current value within the pane: x, y, width, in cells."""
        width = (self.where[2] if self.where is not None else self.size.width) - FRAME - 1
        label, value = self._widths(self.row, width)
        return 1 + _SIGN + 1 + label + _GAP, 1 + self.cursor - self.top, value

    def _widths(self, row: FormRow, width: int) -> tuple[int, int]:
        """Return the widths of label and value; a value without a note gets all cells."""
        label = min(columns_of(self.rows), max(width // 3, 8))
        left = max(width - _SIGN - 1 - label - _GAP, 1)
        if not row.note:
            return label, left
        return label, min(max(int(width * _VALUE_SHARE), _VALUE_LEAST), _VALUE_MOST, left)

    # Painting

    def title_text(self) -> Shown:
        """Return the title."""
        return self._title

    def footer_spans(self) -> tuple[Span, ...]:
        """Return the visible range of rows, and the status."""
        space = self.body_size.height
        if len(self.rows) <= space:
            return self._footer
        last = min(self.top + space, len(self.rows))
        where = Span(Shown(f"{self.top + 1}-{last} of {len(self.rows)}"))
        return (where, Span(Shown(" · "), "dim"), *self._footer)

    @property
    def wanted_height(self) -> int:
        """Lines that would show every row, with the frame."""
        return len(self.rows) + FRAME

    def body(self, width: int, height: int) -> list[Line]:
        """Return the rows on screen."""
        shown_now = self.rows[self.top : self.top + height]
        return [self._line(row, at, width) for at, row in enumerate(shown_now, start=self.top)]

    def _line(self, row: FormRow, at: int, width: int) -> Line:
        if row.is_heading:
            text = [Segment(" ", self.base_style), Segment(row.label, self.style_of("key"))]
            return tuple(fitted(text, width, self.base_style))
        is_here = at == self.cursor
        label, value = self._widths(row, width)
        space = Segment(" ", self.base_style)
        mark = Segment("▸" if is_here else " ", self.style_of("key"))
        out = [
            mark,
            *fitted(self.segments((row.sign,)), 1, self.base_style),
            space,
            *fitted(
                [Segment(row.label, self.style_of("strong" if is_here else "plain"))],
                label,
                self.base_style,
            ),
            Segment(" " * _GAP, self.base_style),
            *fitted(self.segments((row.value,)), value, self.base_style),
            Segment(" " * _GAP, self.base_style),
            *self.segments(row.note),
        ]
        return tuple(fitted(out, width, self.base_style))

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._keep_in_view()
        super().on_resize()
        self.post_message(self.ValueMoved())

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the row."""
        at = self.top + event.y - 1
        if 0 <= at < len(self.rows) and not self.rows[at].is_heading:
            self._go(at)
