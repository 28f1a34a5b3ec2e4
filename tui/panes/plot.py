"""A plot of a task's progress over time, in braille dots (plain signs in ASCII)."""

from collections.abc import Sequence

from rich.segment import Segment

from core import format as fmt
from core.model.task import ProgressPoint, Task
from core.text import Shown
from core.views.cells import Span
from tui.keys.bindings import bindings
from tui.panes.painted_widget import Line, fitted
from tui.panes.pane import FRAME, Pane

_AXIS = 7
"""Width of the vertical axis, cells."""
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille cell, by row and column."""


class PlotPane(Pane):
    """Plots finished and errored samples over time."""

    BINDINGS = bindings("list")

    def __init__(self, digit: str, *, id: str) -> None:  # noqa: A002
        super().__init__(digit, id=id)
        self._points: tuple[ProgressPoint, ...] = ()
        self._shown_task: Task | None = None

    def show(self, points: Sequence[ProgressPoint], task: Task | None) -> None:
        """Draw these points, oldest first."""
        self._points = tuple(points)
        self._shown_task = task
        self.redraw()

    @property
    def wanted_height(self) -> int:
        """A height that suits the plot."""
        return 10 + FRAME

    def title_text(self) -> Shown:
        """Return the title."""
        return Shown("Progress")

    def footer_spans(self) -> tuple[Span, ...]:
        """Return the legend; of an ended task, the counts of its log."""
        task = self._shown_task
        if task is not None and task.is_over:
            ended, errored = task.progress.ended, task.progress.errored
        elif self._points:
            ended, errored = self._points[-1].done, self._points[-1].errored
        else:
            return ()
        spans = [Span(Shown(f"{fmt.count(ended)} ended"), "good")]
        if errored:
            spans.append(Span(Shown(f", {fmt.count(errored)} errored"), "error"))
        return tuple(spans)

    def body(self, width: int, height: int) -> list[Line]:
        """Return the plot."""
        if len(self._points) < 2 or height < 3 or width < _AXIS + 10:  # noqa: PLR2004
            is_over = self._shown_task is not None and self._shown_task.is_over
            words = " not enough points for a plot" if is_over else " no plot yet: too few points"
            text = Segment(words, self.style_of("dim"))
            return [tuple(fitted([text], width, self.base_style))]
        columns, rows = width - _AXIS - 1, height - 1
        first, last = self._points[0].at, self._points[-1].at
        total = self._shown_task.row.samples.total if self._shown_task is not None else 0
        most = max(total, *(point.done for point in self._points), 1)
        done = self._curve([point.done for point in self._points], columns, rows, most)
        failed = self._curve([point.errored for point in self._points], columns, rows, most)
        has_failed = any(point.errored for point in self._points)
        lines = [
            (
                *self._axis(row, rows, most),
                *self._row(done[row], failed[row] if has_failed else [0] * columns),
                Segment(" ", self.base_style),
            )
            for row in range(rows)
        ]
        return [*lines, self._times(first, last, columns, width)]

    def _curve(self, values: Sequence[int], columns: int, rows: int, most: int) -> list[list[int]]:
        """Return the dots of each cell: one per half column, at the last value known then."""
        cells = [[0] * columns for _ in range(rows)]
        first, last = self._points[0].at, self._points[-1].at
        span = max(last - first, 1e-9)
        index, before = 0, None
        high = rows * 4 - 1
        for x in range(columns * 2):
            at = first + span * x / (columns * 2 - 1)
            while index + 1 < len(self._points) and self._points[index + 1].at <= at + 1e-9:
                index += 1
            y = high - round(values[index] / most * high)
            for each in range(min(y, before if before is not None else y), y + 1) or (y,):
                cells[each // 4][x // 2] |= _DOTS[each % 4][x % 2]
            if before is not None and before > y:
                for each in range(y, before):
                    cells[each // 4][x // 2] |= _DOTS[each % 4][x % 2]
            before = y
        return cells

    def _row(self, done: Sequence[int], failed: Sequence[int]) -> list[Segment]:
        out: list[Segment] = []
        for bits, bad in zip(done, failed, strict=True):
            tone = "error" if bad and not bits else "good"
            out.append(
                Segment(chr(0x2800 + (bits | bad)) if bits | bad else " ", self.style_of(tone))
            )
        return out

    def _axis(self, row: int, rows: int, most: int) -> list[Segment]:
        label = fmt.count(most) if row == 0 else "0" if row == rows - 1 else ""
        return [
            Segment(label.rjust(_AXIS - 2) + " ", self.style_of("dim")),
            Segment("│", self.style_of("frame")),
        ]

    def _times(self, first: float, last: float, columns: int, width: int) -> Line:
        left, right = fmt.clock(first), fmt.clock(last)
        took = f"over {fmt.duration(last - first)}"
        room = columns - len(left) - len(right)
        text = " " * _AXIS + left + took.center(max(room, 0)) + right
        return tuple(fitted([Segment(text, self.style_of("dim"))], width, self.base_style))
