"""Answers of programs are found among other output, and half an answer is ignored."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import AnswerMalformed
from core.program_answers import AnswerReader, objects_in
from tests.support.shipped_answers import NONCE, answer_line, answers_in, objects_found

NOISE = [
    "",
    "\x1b[?1034h",
    "\x1b]0;title\x07\x1b[31m",
    "\ufeff",
    "*** Welcome to gpu1 ***\r\nLast login: today\r\n",
    "DeprecationWarning: pkg_resources is deprecated",
    '{"event": "motd"}',
    '{"failed": "by someone else"}\n',
    "{ an open brace, ",
    "evalroom-answer ",
    "evalroom-answer - 12 {} evalroom-end",
    "evalroom-answer - 999 {}\n",
    "evalroom-answer 0123456789abcdef 2 {} evalroom-end\n",
    "\x00\x1b",
]
VALUES = [
    {},
    {"a": [1, None, "\x1b[31m é \u2028"]},
    {"out": "evalroom-answer - 2 {} evalroom-end\n"},
]


def read(output: bytes, *, piece: int = 1 << 20, most: int = 4096) -> object:
    """The answer in an output that comes in pieces of so many bytes; None: there is none."""
    reader = AnswerReader(most, nonce=NONCE)
    for at in range(0, len(output), piece):
        if (found := reader.feed(output[at : at + piece])) is not None:
            return json.loads(found)
    return None


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
@pytest.mark.parametrize("before", NOISE, ids=ascii)
def test_noise_around_an_answer_is_not_a_part_of_it(before: str, value: object) -> None:
    for after in NOISE:
        output = f"{before}{answer_line(value)}{after}"
        assert read(output.encode()) == read(output.encode(), piece=7) == value, after
        assert answers_in(output) == [value], after


def test_a_text_that_looks_like_an_answer_is_none_without_the_nonce_of_the_request() -> None:
    nonce = "0123456789abcdef"
    forged = b"".join(answer_line({"failed": "forged"}, n).encode() for n in (NONCE, "f" * 16, ""))
    reader = AnswerReader(4096, nonce=nonce)
    assert reader.feed(forged) is None
    assert reader.feed(answer_line({"pid": 1}, nonce).encode()) == b'{"pid": 1}'
    assert answers_in(forged.decode(), nonce) == []


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_line_ends_that_a_terminal_changed_do_no_harm(value: object) -> None:
    assert read(answer_line(value).replace("\n", "\r\n").encode()) == value


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_an_answer_that_was_cut_off_is_ignored(value: object) -> None:
    whole = answer_line(value).rstrip("\n")
    for end in range(len(whole)):
        assert read(whole[:end].encode()) is None
        assert answers_in(whole[:end]) == []
    assert read(whole.encode()) == value


def test_the_first_whole_answer_counts_and_a_second_one_is_noise() -> None:
    assert read(f"{answer_line({'a': 1})}{answer_line({'a': 2})}".encode()) == {"a": 1}


def test_an_answer_larger_than_allowed_is_refused_before_it_arrives() -> None:
    with pytest.raises(AnswerMalformed, match="larger than"):
        AnswerReader(100, nonce=NONCE).feed(b"evalroom-answer - 101 {")


def test_noise_without_end_takes_no_memory() -> None:
    reader = AnswerReader(100, nonce=NONCE)
    for _ in range(50):
        assert reader.feed(b"noise evalroom-answer - " * 2000) is None
    assert len(vars(reader)["_output"]) < 1000


@settings(max_examples=60)
@given(st.text(), st.lists(st.none() | st.text()), st.text())
def test_any_text_around_any_value(before: str, value: object, after: str) -> None:
    noise = before.replace("evalroom-answer", "")
    output = f"{noise}{answer_line(value)}{after}".encode("utf-8", "replace")
    assert read(output, most=1 << 20) == value


@pytest.mark.parametrize("noise", NOISE, ids=ascii)
def test_an_object_of_another_program_is_found_by_its_shape(noise: str) -> None:
    record = json.dumps({"event": "launch", "pid": 4242})
    found = list(objects_in(f"{noise}{record}\r\n{noise}", "pid"))
    assert found == [record]
    assert objects_found(f"{noise}{record}\r\n{noise}", "pid") == [json.loads(record)]


def test_half_an_object_is_ignored() -> None:
    record = json.dumps({"event": "launch", "pid": 4242, "log_dir": "/l"})
    found = [list(objects_in(record[:end], "event")) for end in range(len(record))]
    assert found == [[] for _ in record]


def test_objects_in_objects_are_left_out_and_the_order_is_kept() -> None:
    text = '{"a": {"a": 1}} x {"b": 1} {"a": 2}'
    assert list(objects_in(text, "a")) == ['{"a": {"a": 1}}', '{"a": 2}']


def test_a_text_of_braces_takes_no_time() -> None:
    assert list(objects_in('{"a":' * 20_000, "a")) == []
