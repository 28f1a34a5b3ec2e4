"""A pane that draws a `core.views.page.Page`: sections of labels and values."""

from collections.abc import Iterator, Sequence

from core.text import Shown
from core.views.cells import Bar, Cell, Span
from core.views.page import Page
from tui.panes.lines import LinesPane, TextLine

_BAR = 20
"""Cells of a bar on a page."""
_LABEL_MOST = 24
_DOT = Span(Shown("·"), "dim")


class PagePane(LinesPane):
    """Facts under headings."""

    def show_page(
        self, page: Page, *, without: Sequence[str] = (), more: Sequence[TextLine] = ()
    ) -> None:
        """Draw a page, without the sections of these titles, and `more` lines after it."""
        sections = [each for each in page.sections if each.title not in without]
        lines: list[TextLine] = []
        for index, section in enumerate(sections):
            if index:
                lines.append(())
            if section.title and index:
                lines.append((Span(section.title, "key"),))
            lines.extend(fact_lines([(fact.label, fact.value) for fact in section.facts]))
        self.show(page.title, (*lines, *more))


def fact_lines(facts: Sequence[tuple[Shown, Cell]]) -> Iterator[TextLine]:
    """Yield labels and values in two columns."""
    width = max((len(label) for label, _ in facts), default=0)
    width = min(width, _LABEL_MOST)
    for label, value in facts:
        head = Span(Shown(f"{label[:width].ljust(width)}  "), "dim")
        yield (head, *spans_of(value or (_DOT,)))


def spans_of(cell: Cell, width: int = _BAR) -> Iterator[Span]:
    """Yield the text of a cell, bars drawn `width` cells wide."""
    for part in cell:
        if isinstance(part, Bar):
            yield from _bar(part, width)
        else:
            yield part


def _bar(bar: Bar, width: int) -> Iterator[Span]:
    failed = max(round(bar.failed * width), 1 if bar.failed > 0 else 0)
    done = max(round(bar.done * width) - failed, 0)
    for sign, count, tone in (("━", done, bar.tone), ("━", failed, "hand")):
        if count:
            yield Span(Shown(sign * count), tone)  # type: ignore[arg-type]
    if width > done + failed:
        yield Span(Shown("─" * (width - done - failed)), "dim")
