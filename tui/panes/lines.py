"""A pane of text lines that scroll: facts, events, messages, output."""

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.segment import Segment

from core.text import Shown, shown
from core.text_filter import text_filter
from core.views.cells import Span, TextLine
from tui.keys.bindings import bindings
from tui.panes.painted_widget import Line, fitted
from tui.panes.pane import FRAME, Pane

_LONG_WORD = 12
"""A word is broken if more than this many of its characters fit on the line."""


class LinesPane(Pane):
    """Lines that scroll.

    Args:
        digit: The digit of the pane.
        id: Its id.
        follows_end: While the end is in view, keep it in view as lines are added.
        has_filter: Whether the lines can be filtered.
    """

    BINDINGS = bindings("list")
    indent = 0
    """Indent of the folded part of a line, in cells."""

    def __init__(
        self,
        digit: str,
        *,
        id: str,  # noqa: A002
        follows_end: bool = False,
        has_filter: bool = False,
    ) -> None:
        super().__init__(digit, id=id)
        self.top = 0
        self._filter = "" if has_filter else None
        self._fitting = (0, 0)
        self._text: tuple[TextLine, ...] = ()
        self._folded: tuple[TextLine, ...] = ()
        self._title = Shown("")
        self._footer: tuple[Span, ...] = ()
        self._follows_end = follows_end

    def show(self, title: Shown, lines: Sequence[TextLine], *, footer: Sequence[Span] = ()) -> None:
        """Draw these lines; long ones are folded."""
        self._title, self._text, self._footer = title, tuple(lines), tuple(footer)
        self._fold()
        self.redraw()

    @property
    def filter_text(self) -> str | None:
        """The filter; None if the pane can't be filtered."""
        return self._filter

    def filter_by(self, text: str) -> None:
        """Show only the entries that match; an entry is a line with the indented lines below it."""
        if self._filter not in {None, text}:
            self._filter = text
            self._fold()
            self.redraw()

    @property
    def wanted_height(self) -> int:
        """Height that shows all lines, with the frame."""
        return max(len(self._folded), 1) + FRAME

    def title_text(self) -> Shown:
        """Return the title."""
        return self._title

    def title_more(self) -> tuple[Span, ...]:
        """Return the filter when there is one."""
        if not self._filter:
            return ()
        return (Span(Shown("  /")), Span(shown(self._filter), "key"))

    def footer_spans(self) -> tuple[Span, ...]:
        """Return the number of matches, the visible range of lines, and the footer."""
        space = self.body_size.height
        parts: list[Span] = []
        if self._filter:
            fit, of = self._fitting
            parts.append(Span(Shown(f"{fit} of {of} match"), "plain"))
        if len(self._folded) > space:
            last = min(self.top + space, len(self._folded))
            parts.append(Span(Shown(f"{self.top + 1}-{last} of {len(self._folded)}"), "plain"))
        dot = Span(Shown(" · "), "dim")
        before = [span for part in parts for span in (part, dot)]
        return (*before, *self._footer) if self._footer else tuple(before[:-1])

    def body(self, width: int, height: int) -> list[Line]:
        """Return the lines on screen."""
        space = Segment(" ", self.base_style)
        return [
            (space, *fitted(self.segments(line), width - 1, self.base_style))
            for line in self._folded[self.top : self.top + height]
        ]

    def on_resize(self) -> None:
        """Fold for the new width."""
        self._fold()
        super().on_resize()

    def action_down(self) -> None:
        """Scroll one line down."""
        self._scroll(1)

    def action_up(self) -> None:
        """Scroll one line up."""
        self._scroll(-1)

    def action_page_down(self) -> None:
        """Scroll a page down."""
        self._scroll(max(self.body_size.height - 1, 1))

    def action_page_up(self) -> None:
        """Scroll a page up."""
        self._scroll(-max(self.body_size.height - 1, 1))

    def action_first(self) -> None:
        """Scroll to the beginning."""
        self._scroll(-len(self._folded))

    def action_last(self) -> None:
        """Scroll to the end."""
        self._scroll(len(self._folded))

    def on_mouse_scroll_down(self) -> None:
        """Scroll down."""
        self._scroll(3)

    def on_mouse_scroll_up(self) -> None:
        """Scroll up."""
        self._scroll(-3)

    def _scroll(self, lines: int) -> None:
        self.top = self._allowed(self.top + lines)
        self.redraw()

    def _allowed(self, top: int) -> int:
        return max(0, min(top, len(self._folded) - self.body_size.height))

    def _fitting_lines(self) -> tuple[TextLine, ...]:
        fits = text_filter(self._filter or "")
        if fits is None:
            return self._text
        known = list(entries(self._text))
        fit = [entry for entry in known if fits(_words(entry))]
        self._fitting = (len(fit), len(known))
        nothing = (Span(Shown("nothing matches the filter; Esc clears it"), "dim"),)
        return tuple(line for entry in fit for line in entry) or (nothing,)

    def _fold(self) -> None:
        was_at_end = self.top >= len(self._folded) - self.body_size.height
        width = max(self.body_size.width - 1, 1)
        self._folded = tuple(
            part for line in self._fitting_lines() for part in folded(line, width, self.indent)
        )
        self.top = self._allowed(
            len(self._folded) if self._follows_end and was_at_end else self.top
        )


def entries(lines: Iterable[TextLine]) -> Iterator[tuple[TextLine, ...]]:
    """Group lines into entries: each line with the indented lines below it."""
    entry: list[TextLine] = []
    for line in lines:
        is_below = len(line) > 1 and line[0].text.isspace()
        if entry and not is_below:
            yield tuple(entry)
            entry = []
        entry.append(line)
    if entry:
        yield tuple(entry)


def _words(entry: Iterable[TextLine]) -> str:
    return "\n".join("".join(span.text for span in line) for line in entry).lower()


def folded(line: TextLine, width: int, indent: int = 0) -> list[TextLine]:
    """Fold a line into lines of at most `width` cells."""
    indent = indent if indent * 2 < width else 0
    out: list[TextLine] = []
    now: list[Span] = []
    left = width
    for span in line:
        rest = str(span.text)
        while rest:
            part = _piece(rest, left, is_fresh=left == width - indent * bool(out))
            if part:
                now.append(Span(Shown(part), span.tone))
                left -= len(part) if part.isascii() else cell_len(part)
                rest = rest[len(part) :]
            if rest:
                out.append(tuple(now))
                now = [Span(Shown(" " * indent))] if indent else []
                left = width - indent
                rest = rest.lstrip(" ")
    out.append(tuple(now))
    return out


def _piece(text: str, width: int, *, is_fresh: bool) -> str:
    """Return the part of `text` for this line, up to the end of a word if one is near."""
    part = _beginning(text, width)
    if len(part) < len(text) and text[len(part)] != " ":
        end = part.rfind(" ")
        is_short = len(part) - end <= _LONG_WORD and (end >= 0 or not is_fresh)
        if end > len(part) // 2 or is_short:
            part = part[: end + 1]
    return part or (text[:1] if is_fresh else "")


def _beginning(text: str, width: int) -> str:
    """Return the part of `text` that fits into `width` cells."""
    if text.isascii():
        return text[:width]
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return text[:index]
    return text
