"""A widget that paints its own lines and repaints only the cells that changed.

It keeps the lines that it drew last, compares, and refreshes the difference. So an idle screen
sends nothing to the terminal, and an age that ticks sends one cell.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from core.views.cells import Bar, Span, Tone
from tui.app_access import app_of
from tui.terminal.textual_internals import forget_strips
from tui.theme import TONES

Line = tuple[Segment, ...]
"""One painted line, exactly as wide as its widget."""
_GAP = 4
"""Two changed runs of cells this close together are sent as one."""


class PaintedWidget(Widget):
    """Draws the lines that `paint` returns."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"tone--{tone}" for tone in TONES),
        "tone--title",
        "tone--frame",
        "tone--raised",
        "tone--cursor",
        "tone--unfocused",
    }
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []
        self._styles_by_tone: dict[str, Style] = {}

    def paint(self, size: Size) -> list[Line]:
        """Return the lines for a content of this size; missing lines are blank."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Paint, compare with what is on screen, and repaint the cells that differ."""
        size = self.content_size
        if not (self.is_attached and self.display and size.width and size.height):
            return
        before = self._lines
        now = self.paint(size)[: size.height]
        blank: Line = (Segment(" " * size.width, self.base_style),)
        now.extend([blank] * (size.height - len(now)))
        self._lines = now
        if len(before) != len(now):
            self.refresh()
            return
        changed = [
            region
            for y, (old, new) in enumerate(zip(before, now, strict=True))
            if old is not new
            for region in differences(old, new, y, size.width)
        ]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """Return one line, as `redraw` painted it."""
        if y < len(self._lines):
            return Strip(self._lines[y])
        return Strip.blank(self.content_size.width, self.rich_style)

    def style_of(self, tone: Tone | str, ground: str | None = None) -> Style:
        """Return the style of a tone, on the widget's own background or a named one."""
        name = f"{tone}/{ground}" if ground else str(tone)
        style = self._styles_by_tone.get(name)
        if style is None:
            style = self.base_style
            if ground == "cursor" and app_of(self).native_ansi_color:
                # All backgrounds of the 16 colours are too loud, so the line is reversed.
                return self._styles_by_tone.setdefault(name, style + Style(reverse=True))
            if ground:
                style += self.get_component_rich_style(f"tone--{ground}", partial=True)
            style += self.get_component_rich_style(f"tone--{tone}", partial=True)
            self._styles_by_tone[name] = style
        return style

    @property
    def base_style(self) -> Style:
        """The style of the widget's own background."""
        style = self._styles_by_tone.get("")
        if style is None:
            style = self._styles_by_tone[""] = self.rich_style
        return style

    def segments(self, spans: Iterable[Span | Bar], ground: str | None = None) -> list[Segment]:
        """Return text spans as segments."""
        return [
            Segment(span.text, self.style_of(span.tone, ground))
            for span in spans
            if isinstance(span, Span) and span.text
        ]

    def notify_style_update(self) -> None:
        """Forget the styles of the old theme, and repaint."""
        super().notify_style_update()
        self._styles_by_tone.clear()
        self._lines = []
        if self.is_mounted:
            self.call_later(self.redraw)

    def on_resize(self) -> None:
        """Paint for the new size."""
        self._lines = []
        self.redraw()

    def on_unmount(self) -> None:
        """Forget the lines: a closed screen stays until the next full collection of garbage."""
        self._lines = []
        forget_strips(self)

    def on_show(self) -> None:
        """Paint: nothing is painted while hidden."""
        self.redraw()


def width_of(segments: Iterable[Segment]) -> int:
    """Return how many cells the segments take."""
    return sum(_cells(segment.text) for segment in segments)


def fitted(segments: Sequence[Segment], width: int, blank: Style) -> list[Segment]:
    """Return the segments cut or filled up to exactly `width` cells."""
    out: list[Segment] = []
    left = width
    for segment in segments:
        taken = _cells(segment.text)
        if taken > left:
            text = cut(segment.text, left)
            if text:
                out.append(Segment(text, segment.style))
            left -= _cells(text)
            break
        out.append(segment)
        left -= taken
    if left:
        out.append(Segment(" " * left, blank))
    return out


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` cells, with an ellipsis if it was cut."""
    if _cells(text) <= width:
        return text
    if width <= 0:
        return ""
    if text.isascii():
        return text[: width - 1] + "…"
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > width - 1:
            return text[:index] + "…"
    return text


def _cells(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def difference(old: Line, new: Line, y: int, width: int) -> Region | None:
    """Return the region in which line `y` changed; None if it did not."""
    if old == new:
        return None
    start = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        start += _cells(after.text)
    end = width
    for before, after in zip(reversed(old), reversed(new), strict=False):
        if before != after:
            break
        end -= _cells(after.text)
    return Region(start, y, max(end - start, 1), 1)


def differences(old: Line, new: Line, y: int, width: int) -> Sequence[Region]:
    """Return the regions in which line `y` changed, from left to right."""
    if old == new:
        return ()
    if not all(_is_narrow(segment.text) for line in (old, new) for segment in line):
        region = difference(old, new, y, width)
        return () if region is None else (region,)
    runs: list[tuple[int, int]] = []
    for start, end in _changed(old, new, width):
        if runs and start - runs[-1][1] <= _GAP:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return [Region(start, y, end - start, 1) for start, end in runs]


def _changed(old: Line, new: Line, width: int) -> Iterator[tuple[int, int]]:
    """Yield the changed runs of two lines of narrow characters as start and end (exclusive)."""
    befores, afters = iter(old), iter(new)
    x, before, after = 0, Segment(""), Segment("")
    while x < width:
        while not before.text and (one := next(befores, None)) is not None:
            before = one
        while not after.text and (one := next(afters, None)) is not None:
            after = one
        size = min(len(before.text), len(after.text))
        if not size:
            yield x, width
            return
        if before.style != after.style:
            yield x, x + size
        elif before.text[:size] != after.text[:size]:
            differing = [at for at in range(size) if before.text[at] != after.text[at]]
            yield x + differing[0], x + differing[-1] + 1
        x += size
        before = Segment(before.text[size:], before.style)
        after = Segment(after.text[size:], after.style)


@lru_cache(4096)
def _is_narrow(text: str) -> bool:
    return text.isascii() or all(cell_len(char) == 1 for char in text)
