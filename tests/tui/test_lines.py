"""Folding text to lines, and painting only what changed."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from core.text import Shown, shown
from core.views.cells import Span
from tui.panes.lines import entries, folded
from tui.panes.painted_widget import cut, difference, fitted


def texts(lines: list[tuple[Span, ...]]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def test_a_line_is_folded_at_a_word() -> None:
    assert texts(folded((Span(Shown("one two three")),), 8)) == ["one two ", "three"]


def test_a_word_is_not_broken_between_two_tones() -> None:
    line = (Span(Shown("from who ")), Span(Shown("runs it")))
    assert texts(folded(line, 11)) == ["from who ", "runs it"]


def test_a_number_late_in_a_tone_is_not_broken() -> None:
    line = (Span(Shown("46 req/min")), Span(Shown("  20% in back-off")))
    assert texts(folded(line, 13)) == ["46 req/min  ", "20% in ", "back-off"]


def test_an_entry_is_a_line_with_what_is_moved_in_below_it() -> None:
    text = [
        (Span(Shown("17:40  ")), Span(Shown("tool"))),
        (Span(Shown("    ")), Span(Shown("arguments"))),
        (Span(Shown("    ")), Span(Shown("result"))),
        (Span(Shown("17:41  ")), Span(Shown("score"))),
    ]
    assert [len(entry) for entry in entries(text)] == [3, 1]
    assert [line for entry in entries(text) for line in entry] == text


def test_a_wrapped_fact_continues_under_its_value() -> None:
    line = (Span(Shown("why  ")), Span(Shown("aaa bbb ccc ddd")))
    assert texts(folded(line, 13, 5)) == ["why  aaa bbb ", "     ccc ddd"]


@given(st.text(max_size=60), st.integers(2, 30))
def test_no_folded_line_is_wider_than_the_room(text: str, width: int) -> None:
    lines = texts(folded((Span(shown(text)),), width))
    assert max(map(cell_len, lines), default=0) <= width


@given(st.text(max_size=60), st.integers(0, 30))
def test_a_text_is_cut_to_its_cells(text: str, width: int) -> None:
    assert cell_len(cut(shown(text), width)) <= width


@given(st.lists(st.text(max_size=12), max_size=4), st.integers(0, 30))
def test_fitted_segments_are_exactly_as_wide_as_asked(parts: list[str], width: int) -> None:
    segments = [Segment(shown(part), Style()) for part in parts]
    out = fitted(segments, width, Style())
    assert sum(cell_len(segment.text) for segment in out) == width


def test_only_the_cells_that_differ_are_named() -> None:
    old = (Segment("name  "), Segment("1s"), Segment(" end"))
    new = (Segment("name  "), Segment("2s"), Segment(" end"))
    region = difference(old, new, 3, 12)
    assert region is not None
    assert (region.x, region.y, region.width) == (6, 3, 2)
    assert difference(old, old, 3, 12) is None
