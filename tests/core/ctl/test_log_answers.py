"""Answers of the log script are decoded or refused; errors are grouped by cause."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ctl.error_causes import cause_of, grouped, read_causes
from core.ctl.log_answers import log_reading
from core.errors import AnswerMalformed
from core.model.error_causes import MAX_GROUPS, OTHER_CAUSES
from core.model.log_summary import ErrorGroup, LogCounts, LogSummary, UnreadLog

pytestmark = pytest.mark.pure

ROW = {"sample_id": "q", "epoch": 1, "status": "error", "scores": {"match": "I"}}
ANSWER: dict[str, Any] = {
    "log": "/logs/a.eval",
    "header": {
        "status": "error",
        "eval": {"task": "t", "model": "m", "eval_id": "e", "task_id": "k", "run_id": "r"},
        "error": "TerminateTaskError('Task cancelled by user (abort)')",
        "results": {"total_samples": 12, "completed_samples": 5, "scores": []},
        "started_at": "2026-11-30T10:00:00+00:00",
        "completed_at": "soon",
    },
    "samples": {
        "counts": {"total": 12, "completed": 5, "errored": 3, "cancelled": 2, "scored": 5},
        "errors": [
            ["ValueError('item 7 of list 3 is bad')", 2, "q", 1],
            ["ValueError('item 12 of list 44 is bad')", 1, 5, 2],
            ["nonsense"],
        ],
        "rows": [ROW, {"sample_id": 1}, "x"],
    },
}


def test_an_answer_holds_the_header_the_counts_the_causes_and_the_rows() -> None:
    found = log_reading(ANSWER)
    assert isinstance(found, LogSummary)
    assert found.samples is not None
    header, samples = found.header, found.samples
    assert (header.location, header.status, header.is_final) == ("/logs/a.eval", "error", True)
    assert (header.eval_id, header.task_id) == ("e", "k")
    assert header.cause == "TerminateTaskError: Task cancelled by user (abort)"
    assert (header.started_at, header.completed_at) == (1796032800.0, None)
    assert samples.counts == LogCounts(
        total=12, completed=5, errored=3, cancelled=2, abandoned=2, scored=5
    )
    assert samples.errors == (ErrorGroup("ValueError: item N of list N is bad", 3, ("q", 1)),)
    assert [(row.sample_id, row.status, row.has_error) for row in samples.rows] == [
        ("q", "error", True)
    ]
    assert samples.cut == 9


def test_samples_that_could_not_be_read_leave_the_header() -> None:
    found = log_reading({**ANSWER, "samples": None, "trouble": "too large\x1b[2J"})
    assert isinstance(found, LogSummary)
    assert (found.samples, found.trouble) == (None, "too large␛[2J")


@pytest.mark.parametrize("header", [None, [], {}, {"status": 7}])
def test_a_header_without_a_status_is_an_unread_log(header: object) -> None:
    assert isinstance(log_reading({**ANSWER, "header": header}), UnreadLog)


def test_an_answer_without_a_log_is_refused() -> None:
    with pytest.raises(AnswerMalformed):
        log_reading({"error": "no"})


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("ValueError('bad')", "ValueError: bad"),
        ("ValueError('first\\nsecond')", "ValueError: first"),
        ("ValueError('\\n\\nafter blank lines')", "ValueError: after blank lines"),
        ('TypeError("it\'s 3.5 of 1,000")', "TypeError: it's N of N"),
        ("a.b.C('cut here", "a.b.C: cut here"),
        ("TimeoutError()", "TimeoutError"),
        ("Error code: 429 - request req_011CVabc", "Error code: N - request req_NCVabc"),
        ("OSError(2, 'No such file')", "OSError(N, '…')"),
        ("RuntimeError('file \"/tmp/x1\" is gone')", "RuntimeError: file '…' is gone"),
        (
            "RuntimeError('id 6c5e0b52-2d9f-4f77-a06b-9d9f1f1f3b33')",
            "RuntimeError: id …",
        ),
        ("RuntimeError('GET https://a.b/c?d=e failed')", "RuntimeError: GET … failed"),
        ("RuntimeError('at 0x7f3a2b')", "RuntimeError: at …"),
        ("ValueError('it is \\x1b[31mred\\x1b[0m')", "ValueError: it is red"),
        ("OSError: no file /data/tmp_ab/x.json, see ~/logs/a.txt", "OSError: no file …, see …"),
        ("RuntimeError('true/false or ./a/b')", "RuntimeError: true/false or …"),
        (
            "docker: write /var/lib/docker/overlay2/ab/x: no space left on device",
            "docker: write /var/lib/docker/…: no space left on device",
        ),
        ("ToolError: got 'the first line\nthe second'", "ToolError: got '…'"),
        ("ToolError: got 'I can't do it' from it", "ToolError: got '…' from it"),
        ("ToolError: got b'bytes' and f'more'", "ToolError: got '…' and '…'"),
        ('ToolError: got "the first line\nthe second"', "ToolError: got '…'"),
        ("ToolError: got `" + "x" * 900, "ToolError: got '…'"),
        ("", "an error without a message"),
    ],
)
def test_a_cause_is_the_type_and_the_first_line_without_what_varies(text: str, cause: str) -> None:
    assert cause_of(text) == cause


@given(st.text(max_size=600))
def test_any_text_has_one_short_line_as_its_cause(text: str) -> None:
    cause = cause_of(text)
    assert 0 < len(cause) <= 200
    assert "\n" not in cause


def test_many_causes_end_in_one_group_and_lose_no_sample() -> None:
    words = [f"cause {'x' * (each + 1)}" for each in range(MAX_GROUPS + 5)]
    groups = grouped((text, 1 + (at == 7), (at, 1)) for at, text in enumerate(words))
    assert len(groups) == MAX_GROUPS
    assert groups[0] == ErrorGroup(words[7], 2, (7, 1))
    assert groups[-1].cause == OTHER_CAUSES
    assert sum(group.count for group in groups) == MAX_GROUPS + 6


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=8))
def test_no_value_in_the_place_of_samples_breaks_the_decoder(value: object) -> None:
    for name in ("counts", "errors", "rows"):
        spoiled = {**ANSWER["samples"], name: value}
        found = log_reading(json.loads(json.dumps({**ANSWER, "samples": spoiled})))
        assert isinstance(found, LogSummary)


def test_causes_of_a_running_task_are_read_without_their_texts() -> None:
    rows = [
        {
            "sample_id": "q",
            "epoch": 2,
            "status": "error",
            "error": "ValueError('7 of \"secret\"')",
        },
        {"sample_id": 5, "epoch": 1, "status": "error", "error": None},
        {"sample_id": True, "epoch": 1, "error": "no id"},
        {"epoch": 1, "error": "no id"},
        {"sample_id": 6, "epoch": 1, "status": "error", "error": {"message": "an object"}},
        "x",
    ]
    read = read_causes(json.dumps({"as_of": 7.5, "samples": rows}).encode())
    assert (read.as_of, read.causes) == (7.5, (("q", 2, "ValueError: N of '…'"),))
    with pytest.raises(AnswerMalformed):
        read_causes(b'{"as_of": 7.5}')
