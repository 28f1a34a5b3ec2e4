"""The pane of a page: bars leave room for the text beside them."""

import pytest

from core.text import Shown
from core.views.cells import Bar, Span
from core.views.pages.page import Fact
from tui.panes.page import bar_width, fact_line


@pytest.mark.parametrize(("room", "expected"), [(0, 20), (40, 20), (28, 18), (12, 20)])
def test_a_bar_gets_narrower_before_the_text_beside_it_wraps(room: int, expected: int) -> None:
    fact = Fact(Shown("progress"), (Bar(0.5), Span(Shown("  16 of 16"))))
    other = Fact(Shown("log"), (Span(Shown("a" * 90)),))
    bar = bar_width([fact, other], room)
    assert bar == expected
    line = "".join(span.text for span in fact_line(fact, 8, bar))
    assert len(line) == 8 + 2 + expected + len("  16 of 16")
