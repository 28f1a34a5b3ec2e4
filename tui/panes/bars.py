"""One-line bars: the header with totals and clock, the names of the panes, the keys."""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from textual.geometry import Size

from core.format import clock
from core.text import Shown
from core.views.cells import Span
from tui.panes.painted_widget import Line, PaintedWidget, fitted, width_of

_CLOCK_ROOM = 10
_KEY_GAP = 3
"""Blank cells after the word of a key."""


class HeaderBar(PaintedWidget):
    """The totals of the fleet, and the clock at the right."""

    def __init__(self) -> None:
        super().__init__(id="header")
        self._groups: tuple[tuple[Span, ...], ...] = ()
        self._now = 0.0

    def show(self, groups: Sequence[Sequence[Span]], now: float) -> None:
        """Draw these totals; those that do not fit are left out at the right."""
        self._groups = tuple(tuple(group) for group in groups)
        self._now = now
        self.redraw()

    def tick(self, now: float) -> None:
        """Redraw the clock."""
        self._now = now
        self.redraw()

    def paint(self, size: Size) -> list[Line]:
        """Return the one line."""
        name = Segment(" evalroom  ", self.style_of("key"))
        right = Segment(f"{clock(self._now, seconds=True)} ", self.style_of("dim"))
        room = size.width - _CLOCK_ROOM
        dot = Segment("  ·  ", self.style_of("dim"))
        out: list[Segment] = [name]
        for index, group in enumerate(self._groups):
            for part, segment in enumerate(self.segments(group)):
                more = [dot, segment] if index and not part else [segment]
                if width_of(out) + width_of(more) > room:
                    break
                out.extend(more)
        out = fitted(out, max(size.width - width_of([right]), 0), self.base_style)
        return [(*out, right)]


class PaneBar(PaintedWidget):
    """The names of the panes, for screens that show one pane at a time."""

    def __init__(self) -> None:
        super().__init__(id="pane-bar")
        self._tabs: tuple[tuple[str, Shown, bool], ...] = ()

    def show(self, tabs: Iterable[tuple[str, Shown, bool]]) -> None:
        """Draw these tabs: digit, title, whether it is the current one."""
        self._tabs = tuple(tabs)
        self.redraw()

    def paint(self, size: Size) -> list[Line]:
        """Return the one line."""
        out: list[Segment] = []
        for digit, title, is_current in self._tabs:
            ground = "cursor" if is_current else None
            text = Segment(f"{title} ", self.style_of("strong" if is_current else "dim", ground))
            out += [Segment(f" {digit} ", self.style_of("key", ground)), text]
            out.append(Segment(" ", self.base_style))
        return [tuple(fitted(out, size.width, self.base_style))]


class KeyBar(PaintedWidget):
    """The keys that work now."""

    def __init__(self) -> None:
        super().__init__(id="key-bar")
        self._keys: tuple[tuple[str, str], ...] = ()
        self._last: tuple[tuple[str, str], ...] = ()

    def show(self, keys: Iterable[tuple[str, str]], *, keeps_last: bool = False) -> None:
        """Draw these keys with their words; those that do not fit are left out at the right.

        Args:
            keys: Each key and its word.
            keeps_last: Whether the last one is kept; those before it are left out first.
        """
        every = tuple(keys)
        most = len(every) - keeps_last
        self._keys, self._last = every[:most], every[most:]
        self.redraw()

    def paint(self, size: Size) -> list[Line]:
        """Return the one line."""
        out: list[Segment] = [Segment(" ", self.base_style)]
        last = [part for key in self._last for part in self._painted(*key)]
        for key in self._keys:
            more = self._painted(*key)
            if width_of([*out, *more, *last]) - _KEY_GAP > size.width:
                break
            out += more
        line = [*out, *last]
        if width_of(line) > size.width:  # without the gap after the last word
            line[-1] = Segment(line[-1].text.rstrip(" "), line[-1].style)
        return [tuple(fitted(line, size.width, self.base_style))]

    def _painted(self, key: str, word: str) -> list[Segment]:
        gap = " " * _KEY_GAP
        return [
            Segment(f"{key} ", self.style_of("key")),
            Segment(f"{word}{gap}", self.style_of("dim")),
        ]
