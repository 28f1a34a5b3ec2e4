"""Sequences of our own, and the last filter before the terminal."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from core.views.glyphs import GLYPHS
from tests.support.hostile_fleets import HOSTILE
from tui.terminal.output_filters import AsciiFilter, HarmlessFilter, JoinedFilter, to_ascii
from tui.terminal.sequences import clipboard_sequences
from tui.theme import terminal_features

BLACK = Color(0, 0, 0)


def sent(text: str, environ: dict[str, str], limit: int) -> tuple[str, ...]:
    sequences = clipboard_sequences(text, environ, limit)
    assert sequences is not None
    return sequences


def test_the_clipboard_gets_the_text_as_it_is() -> None:
    (sequence,) = sent("/logs/a b.eval", {}, 1_000)
    assert sequence.startswith("\x1b]52;c;")
    assert base64.b64decode(sequence[7:-1]) == b"/logs/a b.eval"


def test_tmux_gets_it_bare_and_wrapped() -> None:
    bare, wrapped = sent("x", {"TMUX": "/tmp/t"}, 1_000)
    assert wrapped == "\x1bPtmux;" + bare.replace("\x1b", "\x1b\x1b") + "\x1b\\"


def test_screen_gets_it_in_pieces() -> None:
    pieces = sent("x" * 3_000, {"STY": "1.tty"}, 10_000)
    assert len(pieces) > 3
    assert all(piece.startswith("\x1bP") and piece.endswith("\x1b\\") for piece in pieces)


def test_text_longer_than_the_limit_is_not_sent() -> None:
    assert clipboard_sequences("x" * 1_000, {}, 1_000) is None


@given(st.text())
def test_no_control_passes_the_last_filter(text: str) -> None:
    (segment,) = HarmlessFilter().apply([Segment(text)], BLACK)
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F for char in segment.text)


def test_hostile_text_is_as_wide_after_the_filter_as_before() -> None:
    (segment,) = HarmlessFilter().apply([Segment(HOSTILE)], BLACK)
    assert "\x1b" not in segment.text
    assert "\u202e" not in segment.text


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S"))))
def test_ascii_is_as_wide_as_the_glyph_that_it_replaces(text: str) -> None:
    plain = to_ascii(text)
    assert plain.isascii()
    assert len(plain) == cell_len(text)


def test_our_own_signs_have_twins_in_ascii() -> None:
    for sign, twin in GLYPHS.values():
        assert to_ascii(sign) == twin
    assert to_ascii(".42 ±.05 · 8\u00d7") == ".42 ~.05 . 8x"
    (segment,) = AsciiFilter().apply([Segment("● ▶ ‖ ━━── 1·2 ±")], BLACK)
    assert "?" not in segment.text


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "full"),
        ({"TERM": "screen-256color"}, "256"),
        ({"TERM": "tmux-256color"}, "256"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "dumb"}, "none"),
        ({}, "none"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "none"),
    ],
)
def test_colours_are_what_the_environment_says(environ: dict[str, str], depth: str) -> None:
    assert terminal_features(environ, wants_ascii=False).depth == depth


def test_a_joined_filter_does_what_its_filters_do_one_after_the_other() -> None:
    joined = JoinedFilter((HarmlessFilter(), AsciiFilter()))
    (segment,) = joined.apply([Segment("a\x1b\u2500")], BLACK)
    assert segment.text == "a-"  # a sequence has no width
