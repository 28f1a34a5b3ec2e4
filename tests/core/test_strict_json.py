"""What leaves evalroom as JSON: every strict parser reads it, and nothing is lost."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.event_codec import event_of, line_of
from core.events import ScoreSeen
from core.model.log_summary import Metric
from core.strict_json import decode, encode, parsed
from tests.support.fleets import NOW, task_key

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just("\ud800"),
    st.integers().map(lambda number: number * 10**30),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(value=VALUES, indent=st.sampled_from([None, 2]))
def test_a_strict_parser_reads_whatever_was_encoded(value: object, indent: int | None) -> None:
    text = encode(value, indent=indent)
    assert text.isascii()
    assert msgspec.json.decode(text) == json.loads(text)


@pytest.mark.parametrize(
    ("number", "word"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")]
)
def test_a_number_that_json_lacks_is_null_with_its_word_and_comes_back(
    number: float, word: str
) -> None:
    text = encode({"value": number, "more": [number, {"deep": number}]})
    assert json.loads(text) == {
        "value": None,
        "value_text": word,
        "more": [None, {"deep": None, "deep_text": word}],
        "more_text": [word, None],
    }
    back = parsed(text)
    assert repr(back) == repr({"value": number, "more": [number, {"deep": number}]})


def test_a_word_that_is_already_there_is_kept() -> None:
    assert json.loads(encode({"x": math.nan, "x_text": "mine"})) == {"x": None, "x_text": "mine"}


def test_an_integer_of_hundreds_of_digits_becomes_a_number_that_parsers_have() -> None:
    assert json.loads(encode({"n": 10**300, "m": 10**400, "k": 2**63})) == {
        "n": 1e300,
        "m": None,
        "k": 2**63,
    }


def test_a_recorded_event_keeps_numbers_that_json_lacks() -> None:
    values = (math.nan, math.inf, None, 0.5)
    metrics = tuple(Metric(scorer="s", name="m", value=value) for value in values)
    event = ScoreSeen(at=NOW, task=task_key(), metrics=metrics)
    line = line_of(event)
    msgspec.json.decode(line)
    back = event_of(line)
    assert repr(back) == repr(event)


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 450 + "1" + "}" * 450,
             "9" * 41, "9" * 5_000, "NaN,"],
)  # fmt: skip
def test_a_text_that_evalroom_does_not_write_is_one_kind_of_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(text)
    with pytest.raises(ValueError, match=r"."):
        decode("{}", Metric)
