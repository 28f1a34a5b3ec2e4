"""A real eval with a hung tool, watched, told and ended by commands alone."""

import json
import shlex
import signal
from collections.abc import Iterator

import pytest

from tests.support.commands import Home
from tests.support.evals import Eval, running_evals
from tests.support.waiting import WAIT_S, wait_until

RULES = "\n[judge.stall]\ntool = { suspect = 1, alarm = 4 }\n"
FIELDS = [
    "id", "kind", "severity", "scope", "machine", "pid", "task_id", "sample_id", "epoch", "model",
    "since", "evidence", "cause", "actions", "acknowledged", "muted_until", "closed_at",
]  # fmt: skip


@pytest.fixture
def one() -> Iterator[Eval]:
    """An eval whose only sample calls a tool that does not come back."""
    with running_evals() as evals:
        yield evals.start("tools", args={"samples": 1, "naps": 1, "seconds": 3_600}).wait_ready()


@pytest.mark.slow
def test_a_hung_tool_is_told_with_a_command_that_helps_and_its_end_ends_the_watch(
    home: Home, one: Eval
) -> None:
    home.watch_here(one.data_dir)
    home.configure(home.config.read_text() + RULES)

    watched = home.run("watch", "--findings", "--json", "--until", "alarm")
    assert watched.status == 5, watched.err
    lines = [json.loads(line) for line in watched.out.splitlines()]
    assert lines[-1]["severity"] == "alarm"
    assert lines[-1]["change"] in {"opened", "worsened"}

    answer = home.run("findings", "--json", "--open").json
    assert set(answer) == {"as_of", "findings"}
    [stall] = [each for each in answer["findings"] if each["kind"] == "stall"]
    assert list(stall) == FIELDS
    assert (stall["scope"], stall["machine"], stall["pid"]) == ("sample", "here", one.pid)
    assert (stall["acknowledged"], stall["closed_at"]) == (False, None)
    cancel, *_ = stall["actions"]
    assert cancel["action"] == "cancel-call"
    for each in stall["actions"]:
        program, *words = shlex.split(each["command"])
        assert program == "evalroom"
        tried = home.run(*words, "--dry-run")
        assert tried.status == 0, (each, tried)

    # Acknowledged, it does not end a watch; muted, it prints no line.
    assert home.run("findings", "ack", stall["id"]).status == 0
    [listed] = home.run("findings", "--json").json["findings"]
    assert (listed["acknowledged"], listed["closed_at"]) == (True, None)
    again = home.run("watch", "--findings", "--until", "alarm", "--for", "15")
    assert again.status == 0, again
    muted = home.run("findings", "mute", stall["id"], "--kind", "--for", "1h", "--json").json
    [row] = muted["muted"]
    assert row["muted_until"] > answer["as_of"] + 3_000
    assert home.run("findings", "mute", stall["id"], "--end").status == 0

    watch = home.start("watch", "--findings", "--json", "--until", "done")
    assert watch.stdout is not None
    try:
        assert watch.stdout.readline(), "it watches: it has printed what is open"
        _, *words = shlex.split(cancel["command"])
        ended = home.run(*words, "--yes")
        assert ended.status == 0, ended
        out, _ = watch.communicate(timeout=WAIT_S)
    finally:
        if watch.poll() is None:
            watch.send_signal(signal.SIGTERM)
            watch.communicate()
    assert watch.returncode == 0
    changes = [(each["change"], each["kind"]) for each in map(json.loads, out.splitlines())]
    assert ("closed", "stall") in changes, changes
    wait_until(lambda: one.popen.poll() is not None, "the eval has ended")
    assert home.run("findings", "--json").json["findings"] == []
    every = home.run("findings", "--all", "--json").json["findings"]
    assert next(each for each in every if each["kind"] == "stall")["closed_at"] is not None


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("watch", "--until", "done"), "--findings"),
        (("findings", "mute", "zz"), "ID"),
        (("findings", "mute", "zz", "--for", "soon"), "30m"),
        (("findings", "mute", "zz", "--for", "31d"), "30d"),
        (("findings", "--all", "--open"), "--open"),
    ],
)
def test_wrong_words_are_named(home: Home, words: tuple[str, ...], what: str) -> None:
    home.watch_here(home.folder / "d")
    ran = home.run(*words)
    assert ran.status == 2
    assert what in ran.err
