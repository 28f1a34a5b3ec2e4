"""The width of a text on a terminal: the commands and the room measure alike."""

import sys
import unicodedata

import pytest
from rich.cells import cell_len

from core.text import shown
from core.text_width import width_of


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("ﾊﾟ", 2), ("한글", 4), ("a👍🏽b", 4), ("🇩🇪", 2)],
)
def test_a_text_has_its_width_in_cells(text: str, width: int) -> None:
    assert width_of(text) == width


def test_every_character_that_may_be_shown_is_as_wide_as_in_the_room() -> None:
    known = [chr(code) for code in range(0x80, sys.maxunicode + 1)]
    harmless = [char for char in known if shown(char) == char]
    assert len(harmless) > 100_000
    wrong = [hex(ord(char)) for char in harmless if width_of(char) != cell_len(char)]
    assert wrong == [], unicodedata.unidata_version
