"""The sanitiser: nothing that a terminal acts on gets through."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import NAME_LIMIT, shown, shown_lines

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x00\x07\x1b\x7f\x80\x9b\x9d\u202e\u2066\u200b\u200d\ufeff\u00ad\u2028"),
    ),
    max_size=400,
)
ACTS = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(HOSTILE)
def test_one_line_holds_nothing_that_a_terminal_acts_on(text: str) -> None:
    assert not {unicodedata.category(char) for char in shown(text)} & ACTS


@given(HOSTILE)
def test_many_lines_hold_nothing_but_line_ends(text: str) -> None:
    assert not {unicodedata.category(c) for c in shown_lines(text) if c != "\n"} & ACTS


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=NAME_LIMIT))
def test_plain_text_is_untouched(text: str) -> None:
    assert shown(text) == text


@given(HOSTILE)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    once = shown(text[:50], 10_000)
    assert shown(once, 10_000) == once


@pytest.mark.parametrize(
    ("raw", "pictured"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("a\nb", "a␊b"),
        ("\x9b2J", "⟦009B⟧2J"),
        ("user\u202egnp.exe", "user⟦202E⟧gnp.exe"),
        ("z\u200bw", "z⟦200B⟧w"),
        ("[@click=app.quit]GO[/]", "[@click=app.quit]GO[/]"),
        ("bad\udcff", "bad⟦DCFF⟧"),
        ("e" + "\u0301" * 50, "e" + "\u0301" * 4),
    ],
)
def test_hostile_text_is_pictured(raw: str, pictured: str) -> None:
    assert shown(raw) == pictured


def test_ten_megabytes_are_cut_before_anything_else() -> None:
    name = shown("A" * 10_000_000)
    assert len(name) < NAME_LIMIT + 10
    assert name.endswith("… +10.0M")
