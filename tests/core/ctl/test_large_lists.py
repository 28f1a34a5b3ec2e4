"""A list of any size is read up to a limit, and the rest is only counted."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ctl.decode import MAX_VALUES, first_rows, parse
from core.ctl.envelopes import sample_rows, task_rows
from core.ctl.json_slices import MAX_SKIPPED_BYTES, Items, first_items, split_items
from core.errors import AnswerMalformed
from core.model.limits import MAX_COUNTED, MAX_PROCESS_TASKS, MAX_ROW_BYTES

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.lists(VALUES, max_size=12), st.integers(0, 12), st.sampled_from([None, 1]))
def test_a_list_is_cut_at_its_own_commas(values: list[Any], limit: int, indent: int | None) -> None:
    found = first_items(json.dumps(values, indent=indent).encode(), limit, 10_000)
    assert found is not None
    assert [json.loads(each) for each in found.items] == values[:limit]
    assert found.left_out == max(0, len(values) - limit)
    assert not found.too_large


def test_items_that_are_nested_deep_or_too_large_cost_only_themselves() -> None:
    deep, large = b"[" * 50 + b"]" * 50, b'"' + b"x" * 200 + b'"'
    found = first_items(b"[1,%s,%s,[%s],2]" % (deep, large, b"3," * 100 + b"4"), 10, 120)
    assert found is not None
    assert found.items == (b"1", deep, b"2")
    assert (found.left_out, found.too_large) == (0, 2)


@pytest.mark.parametrize("filler", [b"\xff", b"x", b"9"])
def test_an_item_that_is_far_too_large_is_not_searched_for_its_end(filler: bytes) -> None:
    """One search through 30 MB holds the interpreter lock, and no key is answered meanwhile."""
    for before, after in ((b"", b""), (b'{"a":"', b'"}')):
        far = before + filler * (MAX_SKIPPED_BYTES + 1) + after
        found = first_items(b"[1,%s,2]" % far, 10, 120)
        assert found == Items((b"1",), 0, 1)
        assert split_items(b"[NaN,%s,2]" % far) is None
        near = before + filler * (MAX_SKIPPED_BYTES // 2) + after
        assert first_items(b"[1,%s,2]" % near, 10, 120) == Items((b"1", b"2"), 0, 1)
        assert split_items(b"[NaN,%s,2]" % near) == [b"NaN", near, b"2"]


HARD = {
    "small rows": b"[" + b'{"task_id":"t","eval_id":"e"},' * 900_000 + b"{}]",
    "objects": b"[" + b"{}," * 10_000_000 + b"{}]",
    "texts": b"[" + b'"",' * 10_000_000 + b'""]',
    "brackets": b"[" * 16_000_000,
    "pairs of brackets": b"[" + b"[" * 15_000_000 + b"]" * 15_000_000 + b"]",
    "no UTF-8": b"[" + b"\xff" * 30_000_000 + b"]",
    "digits": b"[" + b"9" * 30_000_000 + b"]",
    "NaN": b"[NaN" + b",[]" * 9_000_000 + b"]",
    "one text": b'[{"task_id":"' + b"x" * 30_000_000 + b'"}]',
    "escapes": b'["' + b"\\\\" * 15_000_000 + b'"]',
}


@pytest.mark.parametrize("body", HARD.values(), ids=HARD)
def test_the_largest_answers_take_seconds_at_most_and_few_rows(body: bytes) -> None:
    began = time.process_time()
    assert len(task_rows(body).rows) <= MAX_PROCESS_TASKS
    assert time.process_time() - began < 10
    assert len(first_rows(body, 10).items) <= 10


def test_the_rows_beyond_the_limit_are_counted_up_to_a_number() -> None:
    row = b'{"task_id":"t","eval_id":"e"}'
    few = task_rows(b"[" + (row + b",") * (MAX_PROCESS_TASKS + 4) + row + b"]")
    assert (len(few.rows), few.left_out) == (MAX_PROCESS_TASKS, 5)
    many = task_rows(b"[" + (row + b",") * 200_000 + row + b"]")
    assert (len(many.rows), many.left_out) == (MAX_PROCESS_TASKS, MAX_COUNTED)


def test_a_row_that_is_too_large_is_a_sentence_and_the_others_are_read() -> None:
    large = b'{"task_id":"t","eval_id":"e","x":"%s"}' % (b"x" * MAX_ROW_BYTES)
    found = task_rows(b'[%s,{"task_id":"u","eval_id":"e"}]' % large)
    assert [row.task_id for row in found.rows] == ["u"]
    assert len(found.malformed) == 1


def test_what_a_row_can_hold_is_bounded() -> None:
    scores = {f"s{number}": number for number in range(500)}
    scores["s0"], scores["s1"] = ["x" * 100] * 20, {"deep": ["y" * 100] * 20}  # type: ignore[assignment]
    calls = [{"id": "c"}] * 2_000
    row = {"sample_id": 1, "epoch": 1, "status": "running", "scores": scores,
           "activity": {"type": "tool", "calls": calls}}  # fmt: skip
    body = json.dumps({"as_of": 1.0, "samples": [row]}, separators=(",", ":")).encode()
    [sample] = sample_rows(body).rows
    assert sample.activity is not None
    assert len(sample.activity.calls) == 100
    kept = sample.scores or {}
    assert len(kept) == 100
    assert len(str(kept["s0"])) < 500
    assert kept["s1"] == {}


def test_an_answer_of_malformed_rows_has_few_sentences() -> None:
    assert len(task_rows(b"[" + b"{}," * 1_900 + b"{}]").malformed) == 20


def test_a_document_of_very_many_values_is_refused() -> None:
    with pytest.raises(AnswerMalformed, match="values"):
        parse(b'{"a":[' + b"1," * MAX_VALUES + b"1]}")
    with pytest.raises(AnswerMalformed):
        sample_rows(b"{" + b'"a":1,' * MAX_VALUES + b'"a":NaN}')


def test_brackets_in_long_texts_are_not_levels() -> None:
    text = "[" * 1_000_000
    assert parse(json.dumps([text, [text[:5]] * 200]).encode()) == [text, [text[:5]] * 200]
