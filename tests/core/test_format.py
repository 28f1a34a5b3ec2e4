import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import format as fmt
from core.views.cells import count_cell, text_cell
from core.views.glyphs import GLYPHS

_NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(10**400), 10**400)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_234, "1.2k"),
        (9_960, "10k"),
        (48_300, "48k"),
        (999_949, "1000k"),
        (999_960, "1.0M"),
        (1_240_000, "1.2M"),
        (-1_240, "-1.2k"),
        (math.inf, "1000T"),
        (math.nan, "·"),
    ],
)
def test_counts_are_short(value: float, text: str) -> None:
    assert fmt.count(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (42.9, "0:42"), (252, "4:12"), (3_840, "1h04"), (183_600, "2d03h"), (-5, "0:00")],
)
def test_durations_read_like_a_stopwatch(seconds: float, text: str) -> None:
    assert fmt.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(1, "1s"), (59.9, "59s"), (125, "2m"), (7_300, "2h"), (172_800, "2d")]
)
def test_ages_have_one_unit(seconds: float, text: str) -> None:
    assert fmt.age(seconds) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (540, 840, "9-14m"),
        (3_000, 7_200, "50m-2h"),
        (20, 20, "20s"),
        (25_200, 39_600, "7-11h"),
        (100, 20, "2m"),
        (59.7, 59.9, "1m"),
    ],
)
def test_a_time_left_is_a_range(low: float, high: float, text: str) -> None:
    assert fmt.span_of_time(low, high) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.42, 0.05, ".42 ±.05"),
        (1.0, None, "1.00"),
        (-0.5, None, "-.50"),
        (12.34, 0.4, "12.3 ±.40"),
        (0.42, math.nan, ".42"),
        (123_456.0, None, "123456"),
        (3.2e17, None, "3.2e17"),
        (-1e300, 2e300, "-1e300 ±2e300"),
        (1e6, None, "1e6"),
        (999_999.0, None, "999999"),
        (0.004, 0.00012, ".004 ±1.2e-4"),
        (1e-9, None, "1e-9"),
        (0.0, 0.0, ".00 ±.00"),
        (32 * 10**400, None, "3.2e401"),
        (-2_000_000, None, "-2e6"),
        (math.nan, 0.1, "nan ±.10"),
        (math.inf, math.inf, "inf ±inf"),
        (-math.inf, None, "-inf"),
        (None, 0.1, "·"),
    ],
)
def test_a_score_has_its_error_bar(value: float, error: float | None, text: str) -> None:
    assert fmt.score(value, error) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(0, "0%"), (0.005, "1%"), (0.999, "99%"), (1, "100%")]
)
def test_only_what_is_all_is_a_hundred_percent(fraction: float, text: str) -> None:
    assert fmt.percent(fraction) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0B"), (512, "512B"), (1_536, "1.5K"), (80 * 1024**3, "80G")]
)
def test_sizes_are_binary(value: float, text: str) -> None:
    assert fmt.size(value) == text


def test_an_unknown_value_is_empty_and_nothing_is_zero() -> None:
    assert count_cell(None) == ()
    assert count_cell(math.nan) == ()
    assert count_cell(0) != ()
    assert text_cell(None) == ()
    assert text_cell("") == ()


@given(_NUMBERS)
def test_no_number_breaks_a_format(value: float) -> None:
    for each in (fmt.count, fmt.size, fmt.duration, fmt.age, fmt.percent, fmt.score, fmt.clock):
        text = each(value)
        assert text.isprintable()
        assert len(text) <= (9 if each is fmt.score else 8)
    assert len(fmt.span_of_time(value, value)) <= 11


@pytest.mark.parametrize(("glyph", "plain"), GLYPHS.values())
def test_every_sign_is_one_character_and_has_a_twin_in_ascii(glyph: str, plain: str) -> None:
    assert (len(glyph), len(plain)) == (1, 1)
    assert plain.isascii()
