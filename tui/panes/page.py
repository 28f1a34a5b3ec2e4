"""A pane that draws a `core.views.pages.page.Page`: sections of labels and values."""

from collections.abc import Iterator, Sequence

from core.text import Shown
from core.views.cells import Bar, Cell, Span, TextLine
from core.views.pages.page import Fact, Page
from tui.panes.columns import cell_width
from tui.panes.lines import LinesPane

_BAR = 20
"""Width of a bar on a page, cells; in a narrow pane, bars leave room for the text beside them."""
_BAR_LEAST = 6
_LABEL_MOST = 24
_DOT = Span(Shown("·"), "dim")


class PagePane(LinesPane):
    """Shows facts under headings."""

    def __init__(self, digit: str, *, id: str, name_in_bar: str = "") -> None:  # noqa: A002
        super().__init__(digit, id=id)
        self._name_in_bar = name_in_bar
        self._page: tuple[Page, frozenset[str], tuple[TextLine, ...]] | None = None

    def name_in_bar(self) -> Shown:
        """Return its name in the pane bar."""
        return Shown(self._name_in_bar) if self._name_in_bar else super().name_in_bar()

    def show_page(
        self, page: Page, *, without: Sequence[str] = (), more: Sequence[TextLine] = ()
    ) -> None:
        """Draw a page without the sections of these titles, followed by `more` lines."""
        self._page = (page, frozenset(without), tuple(more))
        self._show()

    def on_resize(self) -> None:
        """Draw the page for the new width."""
        self._show()
        super().on_resize()

    def _show(self) -> None:
        if self._page is None:
            return
        page, without, more = self._page
        sections = [each for each in page.sections if each.title not in without]
        labels = [len(fact.label) for each in sections for fact in each.facts]
        width = min(max(labels, default=0), _LABEL_MOST)
        self.indent = width + 2
        facts = [fact for each in sections for fact in each.facts]
        bar = bar_width(facts, self.body_size.width - 1 - self.indent)
        lines: list[TextLine] = []
        for index, section in enumerate(sections):
            if index:
                lines += [(), (Span(section.title, "key"),)]
            lines.extend(fact_line(fact, width, bar) for fact in section.facts)
        self.show(page.title, (*lines, *more))


def bar_width(facts: Sequence[Fact], room: int) -> int:
    """Return the width of the bars of these facts, so that their text fits beside them.

    A text that would not fit beside the shortest bar wraps anyway, and does not count.

    Args:
        facts: All facts of the page.
        room: The width of a value, cells; before the first layout not above 0.
    """
    with_bars = (fact.value for fact in facts if any(isinstance(part, Bar) for part in fact.value))
    spare = (room - cell_width(value) for value in with_bars)
    return min((_BAR, *(each for each in spare if each >= _BAR_LEAST))) if room > 0 else _BAR


def fact_line(fact: Fact, width: int, bar: int) -> TextLine:
    """Return a fact as a line: its label in `width` cells, its value with bars of `bar` cells."""
    head = Span(Shown(f"{fact.label[:width].ljust(width)}  "), "dim")
    return (head, *spans_of(fact.value or (_DOT,), bar))


def spans_of(cell: Cell, width: int) -> Iterator[Span]:
    """Yield the text of a cell, bars drawn `width` cells wide."""
    for part in cell:
        if isinstance(part, Bar):
            yield from _bar(part, width)
        else:
            yield part


def _bar(bar: Bar, width: int) -> Iterator[Span]:
    failed = max(round(bar.failed * width), 1 if bar.failed > 0 else 0)
    done = max(round(bar.done * width) - failed, 0)
    if done:
        yield Span(Shown("━" * done), bar.tone)
    if failed:
        yield Span(Shown("━" * failed), "error")
    if width > done + failed:
        yield Span(Shown("─" * (width - done - failed)), "dim")
