"""The one quoting function against real shells, and frames cut at any byte."""

import subprocess
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import BrokenFrame, UsageWrong
from core.frames import MAX_HEAD, MAX_PART, Frame, Splitter, encode
from core.quoting import command_line, program_word, quoted
from tests.support.waiting import WAIT_S

CORPUS = [
    "", " ", "a b", "'", "''", '"', "\\", "\\'", "$(touch X)", "`touch X`", "$HOME", "${x}", "!",
    "!!", "*", "~", "~root", "-n", "--", "-", ";", "&", "|", "<", ">", "#", "\n", "a\nb", "\t",
    "\r", "é", "日本", "\x1b[2J", "\x7f", "a'b\"c`d$e\\f!g\nh", "{a,b}", "[x]", "%s", "=", "a=b",
]  # fmt: skip
SHELLS = ("/bin/sh", "/bin/dash", "/bin/bash")
words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


def words_in(shell: str, line: str) -> list[str]:
    """The words that a shell makes of `line`, which it reads from its input."""
    show = "import sys; sys.stdout.write(repr(sys.argv[1:]))"
    script = f"exec python3 -c {quoted(show)} {line}\n"
    done = subprocess.run(
        [shell], input=script.encode(), capture_output=True, check=True, timeout=WAIT_S
    )
    found: list[str] = eval(done.stdout.decode())  # our own repr
    return found


@pytest.mark.parametrize("shell", SHELLS)
def test_every_word_of_the_corpus_arrives_as_it_is(shell: str) -> None:
    assert words_in(shell, command_line(tuple(CORPUS))) == CORPUS


@pytest.mark.parametrize("shell", SHELLS)
@given(many=st.lists(words, min_size=20, max_size=60))
@settings(
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_words_arrive_as_they_are(shell: str, many: list[str]) -> None:
    assert words_in(shell, command_line(tuple(many))) == many


@pytest.mark.parametrize("word", ["\0", "a\0b", "\ud800"])
def test_a_name_that_no_word_can_hold_is_refused(word: str) -> None:
    with pytest.raises(UsageWrong):
        quoted(word)


@pytest.mark.parametrize("path", ["", "-c", "--help"])
def test_a_word_that_is_not_a_program_is_refused(path: str) -> None:
    with pytest.raises(UsageWrong):
        program_word(path)


def test_a_home_path_is_the_home_over_there() -> None:
    assert program_word("~/venv/bin/my python") == "\"$HOME\"'/venv/bin/my python'"


RESERVED = {"v", "kind", "body", "part", "parts", "stream"}
heads = st.dictionaries(
    st.text(max_size=8).filter(lambda key: key not in RESERVED),
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.text(max_size=20)),
    max_size=4,
)
frames = st.builds(Frame, st.text(min_size=1, max_size=10), heads, st.binary(max_size=200))


@given(many=st.lists(frames, max_size=6), cuts=st.lists(st.integers(0, 2_000), max_size=20))
def test_frames_come_whole_wherever_they_are_cut(many: list[Frame], cuts: list[int]) -> None:
    data = b"".join(map(encode, many))
    at = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    splitter = Splitter()
    found = [
        frame
        for start, end in zip(at, at[1:], strict=False)  # noqa: RUF007 - both are cuts
        for frame in splitter.feed(data[start:end])
    ]
    assert found == many
    assert splitter.is_between_frames


@given(
    kind=st.sampled_from(["answer", "reply"]),
    body=st.binary(max_size=100),
    size=st.integers(1, 40),
    step=st.integers(1, 64),
)
def test_an_answer_in_parts_is_put_together(kind: str, body: bytes, size: int, step: int) -> None:
    module: Any = import_module("ssh.shipped.probe.frames")
    before = module.MAX_PART_BYTES
    module.MAX_PART_BYTES = size
    try:
        parts = module.FrameWriter(-1).parts((kind, {"id": 3}, body, None))
        pieces = b"".join(bytes(piece) for part in parts for piece in part)
    finally:
        module.MAX_PART_BYTES = before
    splitter = Splitter()
    found = [
        frame
        for at in range(0, len(pieces), step)
        for frame in splitter.feed(pieces[at : at + step])
    ]
    assert found == [Frame(kind, {"id": 3}, body)]


BROKEN: Mapping[str, bytes] = {
    "no json": b"hello\n",
    "no object": b"[]\n",
    "another version": b'{"v":2,"kind":"x","body":0}\n',
    "no kind": b'{"v":1,"body":0}\n',
    "no size": b'{"v":1,"kind":"x"}\n',
    "negative": b'{"v":1,"kind":"x","body":-1}\n',
    "too large": b'{"v":1,"kind":"x","body":%d}\n' % (MAX_PART + 1),
    "a long head": b'{"v":1,"kind":"' + b"x" * MAX_HEAD + b'","body":0}\n',
    "no end": b"x" * (MAX_HEAD + 1),
    "deep": b"[" * 50_000 + b"\n",
    "parts": b'{"v":1,"kind":"x","body":0,"part":3,"parts":2}\n',
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_frame_is_an_error_and_never_skipped(name: str) -> None:
    with pytest.raises(BrokenFrame):
        list(Splitter().feed(BROKEN[name]))


def test_a_cut_frame_is_noticed() -> None:
    splitter = Splitter()
    assert list(splitter.feed(encode(Frame("x", {}, b"abc"))[:-1])) == []
    assert not splitter.is_between_frames
