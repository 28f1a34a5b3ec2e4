"""Whatever a control channel answers is read, or refused as no answer: nothing else happens."""

import json
import math
from collections.abc import Callable
from contextlib import nullcontext as does_not_raise
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ctl.config_envelopes import config_view, throughput
from core.ctl.decode import MAX_NESTING, parse, raw_fields, raw_rows
from core.ctl.envelopes import sample_rows, score_metrics, task_rows
from core.ctl.features import surface
from core.ctl.json_slices import split_fields, split_items
from core.ctl.sample_details import event_page, messages, sample_detail, store
from core.errors import AnswerMalformed
from core.ports import Reply
from core.watch.log_reads import log_answer
from core.watch.machine_facts import read_facts

GOOD = b'{"task_id":"t","eval_id":"e","sample_id":1,"epoch":1,"status":"running","event":"model"}'
DEEP = b"[" * 100_000 + b"]" * 100_000

SPOILED = {
    "not a number": b'{"x":NaN}',
    "infinity": b'{"x":-Infinity}',
    "beyond a float": b'{"x":1e999}',
    "5,000 digits": b'{"x":' + b"9" * 5_000 + b"}",
    "100,000 levels": b'{"x":' + DEEP + b"}",
    "half a surrogate pair": rb'{"x":"\ud800"}',
    "no UTF-8": b'{"x":"\xff\xfe"}',
    "a raw control": b'{"x":"\x01"}',
    "a name twice": b'{"x":1,"x":2}',
    "no object": b"7",
    "nothing in it": b"{}",
    "null": b"null",
}


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED)
def test_one_spoiled_row_leaves_the_others(spoiled: bytes) -> None:
    tasks = task_rows(b"[%s, %s, %s]" % (GOOD, spoiled, GOOD))
    assert len(tasks.rows) == 2
    assert len(tasks.malformed) == 1
    samples = sample_rows(b'{"samples":[%s,%s],"as_of":7.5,"truncated":true}' % (spoiled, GOOD))
    assert [row.sample_id for row in samples.rows] == [1]
    assert (samples.as_of, samples.truncated, len(samples.malformed)) == (7.5, True, 1)
    page = event_page(b'{"events":[%s,%s],"next":"c"}' % (GOOD, spoiled), content=True)
    assert [event.kind for event in page.events] == ["model"]
    assert (page.next, len(page.malformed)) == ("c", 1)


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED)
def test_a_spoiled_field_is_unknown_or_costs_its_row_alone(spoiled: bytes) -> None:
    row = GOOD[:-1] + b',"total_tokens":5,"extra":' + spoiled + b"}"
    found = sample_rows(b'{"samples":[%s]}' % row)
    assert len(found.rows) + len(found.malformed) == 1
    assert all(each.total_tokens == 5 for each in found.rows)


def test_a_value_that_is_not_a_number_is_unknown() -> None:
    row = json.dumps(
        {
            **json.loads(GOOD),
            "total_time": float("nan"),
            "started_at": "soon",
            "total_tokens": 10**30,
            "turn_count": True,
            "message_count": [1],
            "token_limit_usage": float("inf"),
            "retries": 1.5,
            "events": 3.0,
        }
    )
    (sample,) = sample_rows(b'{"samples":[%s]}' % row.encode()).rows
    assert sample.total_time is None
    assert sample.started_at is None
    assert sample.total_tokens is None
    assert sample.turn_count is None
    assert sample.message_count is None
    assert sample.token_limit_usage is None
    assert sample.retries is None
    assert sample.events == 3


def test_a_sample_id_keeps_its_type() -> None:
    one, other = (GOOD.replace(b'"sample_id":1', b'"sample_id":' + each) for each in (b'"1"', b"1"))
    rows = sample_rows(b'{"samples":[%s,%s]}' % (one, other)).rows
    assert [row.sample_id for row in rows] == ["1", 1]


@pytest.mark.parametrize("sample_id", [b"true", b"null", b"[1]", b"1.5"])
def test_a_row_without_an_id_is_a_sentence(sample_id: bytes) -> None:
    found = sample_rows(b'{"samples":[%s]}' % GOOD.replace(b"1", sample_id, 1))
    assert found.rows == ()
    assert found.malformed == ("a sample row lacks its sample id",)


def test_unknown_fields_are_kept_with_the_row() -> None:
    row = GOOD[:-1] + b',"brand_new":{"a":[1,2]}}'
    assert task_rows(b"[%s]" % row).rows[0].raw == row
    assert sample_rows(b'{"samples":[%s]}' % row).rows[0].raw == row


def test_a_pause_of_old_servers_is_the_tasks_own() -> None:
    (row,) = task_rows(b"[%s]" % (GOOD[:-1] + b',"paused":true,"paused_now":false}')).rows
    assert (row.paused, row.paused_now) == (("task",), ())


def test_the_words_of_an_error_that_came_unasked_are_dropped() -> None:
    row = GOOD[:-1] + b',"error":"SECRET","limit_reason":"SECRET"}'
    (sample,) = sample_rows(b'{"samples":[%s]}' % row).rows
    assert sample.has_error
    assert b"SECRET" not in sample.raw
    assert json.loads(sample.raw)["error"] is None


def test_the_first_metric_stays_the_first_whatever_its_number_is() -> None:
    found = score_metrics(
        b'{"result":{"metrics":[{"scorer":"s","metrics":'
        b'{"accuracy":NaN,"f1":0.9,"big":3.2e17,"none":null,"odd":"x","stderr":Infinity}}]}}'
    )
    assert [(each.name, repr(each.value)) for each in found] == [
        ("accuracy", "nan"),
        ("f1", "0.9"),
        ("big", "3.2e+17"),
        ("none", "None"),
    ]
    assert found[0].stderr == math.inf
    again = score_metrics(b'{"result":{"metrics":[{"scorer":"s","metrics":{"accuracy":NaN}}]}}')
    assert again[0] == replace(found[0], stderr=None)  # one NaN is not news


DECODERS: dict[str, Callable[[bytes], Any]] = {
    "tasks": task_rows,
    "samples": sample_rows,
    "detail": lambda body: sample_detail(body, content=True),
    "detail, withheld": lambda body: sample_detail(body, content=False),
    "events": lambda body: event_page(body, content=True),
    "events, withheld": lambda body: event_page(body, content=False),
    "messages": lambda body: messages(body, content=True),
    "messages, withheld": lambda body: messages(body, content=False),
    "store": lambda body: store(body, content=True),
    "store, withheld": lambda body: store(body, content=False),
    "metrics": score_metrics,
    "config": config_view,
    "throughput": throughput,
    "surface": surface,
    "logs": lambda body: log_answer(Reply(at=0, took=0, status=0, error=None, body=body)),
    "facts": read_facts,
}

NAMES = st.sampled_from(
    """task_id eval_id sample_id epoch status samples counts as_of truncated events next done event
    uuid timestamp pending model function arguments messages index role tool_calls content store
    missing value type size error error_retries limit_reason activity calls scores result metrics
    progress retry limits buffer adaptive concurrency recent_changes max_samples models cumulative
    retries paths parameters paused started_at eval results gpus memory docker""".split()  # noqa: SIM905
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=True)
    | st.text(max_size=6)
    | st.sampled_from(["\ud800", "\x1b[31m", "running", "2026-11-29T12:00:00Z", "2026-99-99T"])
)
DOCUMENTS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
@settings(max_examples=40)
@given(document=DOCUMENTS)
def test_any_document_is_read_or_refused(decode: Callable[[bytes], Any], document: Any) -> None:
    body = json.dumps(document).encode()
    with does_not_raise(), suppress(AnswerMalformed):
        decode(body)


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
def test_a_spoiled_document_is_read_or_refused(decode: Callable[[bytes], Any]) -> None:
    for body in (*SPOILED.values(), DEEP, b"", b"\x00", b"<html>", b'{"samples":[', b"[1,]"):
        with does_not_raise(), suppress(AnswerMalformed):
            decode(body)


@pytest.mark.parametrize("opening", [b"[", b'{"x":'])
@pytest.mark.parametrize("levels", [60, 150, *range(955, 1_000, 3)])
def test_a_nested_document_that_was_read_can_be_written_again(opening: bytes, levels: int) -> None:
    closing = b"]" if opening == b"[" else b"}"
    nested = opening * levels + b'"[["' + closing * levels
    row = GOOD[:-1] + b',"error":"E","index":1,"role":"tool","content":%s,"x":%s}' % (
        nested,
        nested,
    )
    for content in (True, False):
        for body in (b'{"events":[%s]}' % row, b'{"messages":[%s]}' % row):
            decode = event_page if b"events" in body else messages
            found = decode(body, content=content)
            assert len(found.malformed) == (levels > MAX_NESTING)
        for decode_one in (sample_detail, store):
            with suppress(AnswerMalformed):
                decode_one(b'{"store":{"a":%s},"sample_id":1,%s' % (row, row[1:]), content=content)


def test_brackets_in_texts_do_not_count_as_levels() -> None:
    texts = [rf'"\" {{[[{{" \\{"[" * 300}', "[" * 500]
    assert parse(json.dumps(texts).encode()) == texts


def test_wide_is_not_deep() -> None:
    wide = [[[n], {"a": [n]}] for n in range(1_000)]
    assert parse(json.dumps(wide).encode()) == wide


def test_a_document_of_nothing_but_lists_is_refused() -> None:
    with pytest.raises(AnswerMalformed, match="more than"):
        parse(b"[" + b"[]," * 1_000_000 + b"[]]")


@pytest.mark.parametrize("end", [b'"]', b"]", b"\\]"])
def test_a_text_that_never_ends_costs_no_more_than_its_length(end: bytes) -> None:
    # Tried again from each quote, this would take hours.
    body = b'["' + b'\\"' * 1_000_000 + end
    assert split_items(body) in (None, [body[1:-1]])
    with suppress(AnswerMalformed):
        parse(body)


def test_a_text_of_nothing_but_marks_is_not_cut() -> None:
    assert split_items(b"[" + b"1," * 1_000_000 + b"1]") is None


def test_one_nan_in_a_large_answer_spoils_no_other_row() -> None:
    rows: list[dict[str, Any]] = [
        {"id": number, "scores": {"f1": [0.5, {"n": number}]}} for number in range(100_000)
    ]
    rows[7]["scores"] = {"f1": math.nan}
    body = json.dumps({"as_of": 1.5, "samples": rows}).encode()
    assert len(body) > 4 * 1024 * 1024
    fields = raw_fields(body)
    cut = raw_rows(fields["samples"])
    assert (len(cut), json.loads(cut[8]), fields["as_of"]) == (100_000, rows[8], b"1.5")


@settings(max_examples=40)
@given(items=st.lists(DOCUMENTS, max_size=5), indent=st.sampled_from([None, 2]))
def test_cutting_a_list_gives_what_reading_it_gives(items: list[Any], indent: int | None) -> None:
    body = json.dumps(items, indent=indent).encode()
    cut = split_items(body)
    assert cut is not None
    assert [repr(json.loads(item)) for item in cut] == [repr(item) for item in json.loads(body)]


@settings(max_examples=40)
@given(fields=st.dictionaries(st.text(st.characters(codec="ascii")), DOCUMENTS, max_size=5))
def test_cutting_an_object_gives_what_reading_it_gives(fields: dict[str, Any]) -> None:
    body = json.dumps(fields, indent=2).encode()
    cut = split_fields(body)
    assert cut is not None
    named = {json.loads(f'"{name}"'): repr(json.loads(raw)) for name, raw in cut.items()}
    assert named == {name: repr(value) for name, value in json.loads(body).items()}


@given(body=st.text('[]{},:"\\ a1', max_size=30).map(str.encode))
def test_cutting_anything_ends(body: bytes) -> None:
    with does_not_raise():
        split_items(body)
        split_fields(body)


def test_a_list_is_not_an_object_and_the_other_way_round() -> None:
    with pytest.raises(AnswerMalformed):
        raw_rows(b"{}")
    with pytest.raises(AnswerMalformed):
        raw_fields(b"[]")
    assert parse(b"[1,NaN]") is not None
