"""A head that a broken or hostile probe may send is a named error, and nothing else."""

import json
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BrokenFrame
from core.frames import MAX_HEAD, MAX_PARTS, MAX_STREAMS, PartsBudget, Splitter

HEADS = {
    "nested": b'"x":' + b"[" * 20_000 + b"]" * 20_000,
    "5,000 digits": b'"x":' + b"9" * 5_000,
    "400 digits": b'"at":' + b"9" * 400,
    "a list as stream": b'"part":0,"parts":1,"stream":[1]',
    "a text as part": b'"part":"0","parts":1',
    "no such part": b'"part":3,"parts":3',
    "no kind": b'"kind":7',
    "a version of tomorrow": b'"v":2',
    "a size below nothing": b'"body":-1',
    "a size beyond a frame": b'"body":1048577',
    "not a size": b'"body":NaN',
    "no UTF-8": b'"x":"\xff"',
}


@pytest.mark.parametrize("fields", HEADS.values(), ids=HEADS)
def test_a_head_that_is_off_ends_the_session(fields: bytes) -> None:
    with pytest.raises(BrokenFrame):
        list(Splitter().feed(b'{"v":1,"kind":"beat","body":0,%s}\n' % fields))


def test_more_answers_in_parts_than_were_asked_for_end_it_too() -> None:
    splitter = Splitter()
    head = {"v": 1, "kind": "reply", "body": 0, "part": 0, "parts": 2}
    lines = [json.dumps({**head, "stream": n}).encode() + b"\n" for n in range(MAX_STREAMS + 1)]
    assert list(splitter.feed(b"".join(lines[:-1]))) == []
    with pytest.raises(BrokenFrame, match="in parts"):
        list(splitter.feed(lines[-1]))


def test_an_answer_of_empty_parts_without_end_ends_it_too() -> None:
    splitter = Splitter()
    head = {"v": 1, "kind": "reply", "body": 0, "parts": 10**9, "stream": 1}
    lines = [json.dumps({**head, "part": n}).encode() + b"\n" for n in range(MAX_PARTS + 1)]
    assert list(splitter.feed(b"".join(lines[:-1]))) == []
    with pytest.raises(BrokenFrame, match="over the limit"):
        list(splitter.feed(lines[-1]))


def test_incomplete_answers_of_all_machines_are_bounded_and_the_largest_gives_up() -> None:
    def part(number: int, size: int) -> bytes:
        head = {"v": 1, "kind": "answer", "body": size, "part": number, "parts": 9, "stream": 1}
        return json.dumps(head).encode() + b"\n" + b" " * size

    budget = PartsBudget(1_000)
    large, small, other = Splitter(budget), Splitter(budget), Splitter(budget)
    assert list(large.feed(part(0, 600))) == []
    assert list(small.feed(part(0, 100))) == []
    assert list(other.feed(part(0, 400))) == []
    assert [each.parts_size for each in (large, small, other)] == [0, 100, 400]
    with pytest.raises(BrokenFrame, match="more incomplete answers"):
        list(large.feed(b'{"v":1,"kind":"beat","body":0}\n'))
    assert list(small.feed(part(1, 500))) == []
    with pytest.raises(BrokenFrame, match="more incomplete answers"):
        list(small.feed(part(2, 500)))
    assert list(other.feed(part(1, 400))) == []


ITEMS = ("[]", "{}", '{"":0}', '{"":{"":{"":{"":0}}}}', "1e1", "777", '"ab"', '[["a"],{"b":[]}]')


@pytest.mark.parametrize("item", ITEMS)
def test_the_weight_of_a_frame_is_at_least_the_memory_of_its_head(item: str) -> None:
    many = ",".join([item] * ((MAX_HEAD - 100) // (len(item) + 1)))
    line = f'{{"v":1,"kind":"beat","polls":[{many}],"body":0}}\n'.encode()
    splitter = Splitter()
    tracemalloc.start()
    try:
        [frame] = splitter.feed(line)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(frame.head["polls"]) > 1_000
    assert held <= frame.weight + 1024


@pytest.mark.parametrize("numbers", [(1,), (0, 0), (0, 2)])
def test_an_answer_with_a_part_missing_ends_the_session(numbers: tuple[int, ...]) -> None:
    head = {"v": 1, "kind": "answer", "body": 0, "parts": 3, "stream": 1}
    lines = [json.dumps({**head, "part": part}).encode() + b"\n" for part in numbers]
    with pytest.raises(BrokenFrame, match="missing"):
        list(Splitter().feed(b"".join(lines)))


FIELDS = st.sampled_from(["v", "kind", "body", "part", "parts", "stream", "id", "at"])
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.integers(), max_size=1)
)


@given(heads=st.lists(st.dictionaries(FIELDS, VALUES), max_size=5), tail=st.binary(max_size=9))
def test_any_heads_are_frames_or_end_the_session(heads: list[dict[str, Any]], tail: bytes) -> None:
    splitter = Splitter()
    with suppress(BrokenFrame):
        for head in heads:
            line = json.dumps({"v": 1, "kind": "beat", "body": 0, **head}).encode()
            for frame in splitter.feed(line + b"\n" + tail):
                assert isinstance(frame.kind, str)
