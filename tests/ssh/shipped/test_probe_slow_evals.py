"""Several probes at one slow eval: one request in flight, and what one learned the others know."""

import os
import signal
import socket
import stat
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.direct_probe import DirectProbe, direct_probe
from tests.support.fake_eval import FakeEval, fake_eval, http
from tests.support.waiting import WAIT_S, wait_until

Answers = Callable[[str], float]
"""How long the answer to a path takes, seconds."""


@contextmanager
def slow_eval(folder: Path, takes: Answers) -> Generator[FakeEval, None, None]:
    """Yield a fake eval whose answers take so long."""

    def serve(connection: socket.socket, line: str) -> bool:
        time.sleep(takes(line.split()[1]))
        connection.sendall(http(b"[]"))
        return True

    with fake_eval(folder, serve) as fake:
        yield fake


@contextmanager
def probe_at(folder: Path) -> Generator[DirectProbe, None, None]:
    """Yield a probe whose home is in that folder, so that probes of a test share what they know."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    with direct_probe(folder, env={"HOME": str(home)}) as probe:
        yield probe


def watch(probe: DirectProbe, fake: FakeEval, path: str = "/tasks", **head: Any) -> dict[str, Any]:
    row = probe.process(fake.pid)
    place = {"pid": fake.pid, "start": row["start"]}
    words = {"name": path[1:], "path": path, "every": 0.2, "as_of": None, **head}
    probe.send("watch", **place, **words)
    return place


def state_file(folder: Path) -> Path:
    """Return the one state file; it is private."""
    polls = folder / "home" / ".evalroom" / "polls"
    found = wait_until(lambda: list(polls.iterdir()) if polls.exists() else [], "the state file")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (polls, found[0])] == [0o700, 0o600]
    return found[0]


def test_probes_at_one_eval_have_one_request_in_flight_together(tmp_path: Path) -> None:
    with slow_eval(tmp_path, lambda _: 0.05) as fake, ExitStack() as stack:
        probes = [stack.enter_context(probe_at(tmp_path)) for _ in range(3)]
        for number, probe in enumerate(probes):
            watch(probe, fake, f"/tasks{number}")
        places = [watch(probe, fake) for probe in probes]
        asked = [
            (probe, probe.ask("get", **place, path="/x"))
            for _ in range(3)
            for probe, place in zip(probes, places, strict=True)
        ]
        for probe, number in asked:
            assert probe.reply(number).head["status"] == 200
        assert fake.most_in_flight == 1


def test_the_next_probe_knows_the_costs_that_one_measured(tmp_path: Path) -> None:
    with slow_eval(tmp_path, lambda _: 2.1) as fake:
        with probe_at(tmp_path) as probe:
            watch(probe, fake)
            probe.until(
                lambda: len(fake.asked) == 2
            )  # the second poll shows that the read itself is slow
            probe.until(lambda: probe.polls("tasks"))
        assert str(fake.pid) in state_file(tmp_path).name
        with probe_at(tmp_path) as probe:
            place = watch(probe, fake)
            trouble = probe.first("trouble").head["error"]
            assert trouble == "not read now: its reads take 2 s; the next one is in 1 min"
            assert len(fake.asked) == 2
            assert probe.reply(probe.ask("get", **place, path="/tasks")).head["status"] == 200
            probe.send("poll", **place)  # a key asks at once
            assert probe.first("answer").head["status"] == 200
            assert len(fake.asked) == 4
            assert fake.most_in_flight == 1


def test_a_request_of_a_killed_probe_counts_until_its_connection_has_ended(tmp_path: Path) -> None:
    goes_on = threading.Event()

    def serve(connection: socket.socket, _: str) -> bool:
        goes_on.wait(WAIT_S)
        connection.sendall(http(b"[]"))
        return True

    with fake_eval(tmp_path, serve) as fake:
        for _ in range(3):  # three commands in a row, each given up
            with probe_at(tmp_path) as probe:
                watch(probe, fake)
                probe.process(fake.pid, channel="waiting")
        assert len(fake.asked) == 1
        with probe_at(tmp_path) as probe:
            place = watch(probe, fake)
            probe.process(fake.pid, channel="waiting")
            late = probe.ask("get", **place, path="/x", deadline=0.5)
            assert "not sent" in probe.reply(late).head["error"]
            assert len(fake.asked) == 1
            goes_on.set()
            probe.process(fake.pid, channel="ok")
            assert probe.reply(probe.ask("get", **place, path="/y")).head["status"] == 200
            assert fake.paths()[-1] == "/y"
            assert fake.most_in_flight == 1


@pytest.mark.parametrize("delay", [0.05, 0.3, pytest.param(2.0, marks=pytest.mark.slow)])
def test_the_pause_between_polls_of_a_slow_eval_grows_with_their_cost(
    delay: float, tmp_path: Path
) -> None:
    with slow_eval(tmp_path, lambda _: delay) as fake, probe_at(tmp_path) as probe:
        watch(probe, fake)
        wanted = 4 if delay < 0.2 else 2
        probe.until(lambda: len(fake.asked) >= wanted)
        times = [at for at, _ in fake.asked]
        gaps = [after - before - delay for before, after in pairwise(times)]
        assert gaps[0] >= min(100 * delay, 3.0)
        assert all(gap >= 100 * delay for gap in gaps[1:])


def test_a_poll_that_waits_long_is_reported_with_its_cause(tmp_path: Path) -> None:
    with slow_eval(tmp_path, lambda _: 0.3) as fake, probe_at(tmp_path) as probe:
        place = watch(probe, fake)
        assert probe.process(fake.pid)["slow_polls"] == []

        def slow_polls() -> list[dict[str, Any]]:
            return [each for row in probe.processes() for each in row["slow_polls"]]

        [slow] = probe.until(slow_polls)
        assert slow["name"] == "tasks"
        assert 15 <= slow["wait"] <= 20  # after the second answer
        assert 0.3 <= slow["took"] < 2.0
        probe.send("unwatch", **place, name="tasks")
        watch(probe, fake, "/other")
        probe.until(lambda: not [each for each in slow_polls() if each["name"] == "tasks"])


def test_a_slow_eval_does_not_hold_up_the_end_of_a_probe(tmp_path: Path) -> None:
    with slow_eval(tmp_path, lambda _: 30.0) as fake, probe_at(tmp_path) as probe:
        watch(probe, fake)
        probe.until(lambda: fake.asked)
        probe.send("stop")
        assert probe.process_ended()


def test_an_eval_that_a_signal_stopped_is_reported_as_stopped(tmp_path: Path) -> None:
    with slow_eval(tmp_path, lambda _: 60.0) as fake, probe_at(tmp_path) as probe:
        watch(probe, fake)
        probe.process(fake.pid, channel="waiting", is_stopped=False)
        os.kill(fake.pid, signal.SIGSTOP)
        probe.process(fake.pid, channel="waiting", is_stopped=True)
        os.kill(fake.pid, signal.SIGCONT)
        probe.process(fake.pid, channel="waiting", is_stopped=False)


def test_the_state_goes_with_its_process(tmp_path: Path) -> None:
    with probe_at(tmp_path) as probe:
        with slow_eval(tmp_path, lambda _: 0.0) as fake:
            watch(probe, fake)
            kept = state_file(tmp_path)
            wait_until(lambda: b'"kinds":{"' in kept.read_bytes(), "the state is written")
        wait_until(lambda: not kept.exists(), "the state file goes")


def test_states_that_nobody_wrote_for_days_are_removed(tmp_path: Path) -> None:
    polls = tmp_path / "home" / ".evalroom" / "polls"
    polls.mkdir(parents=True, mode=0o700)
    old, new = polls / "1-old", polls / "2-new"
    for each in (old, new):
        each.write_text("")
    os.utime(old, (1, 1))
    with probe_at(tmp_path):
        wait_until(lambda: not old.exists(), "the old state goes")
        assert new.exists()


@pytest.mark.parametrize("content", ["", "no json", '{"flight": 3}', "\0" * 300, '[1e999, "x"]'])
def test_a_damaged_state_is_not_an_obstacle(content: str, tmp_path: Path) -> None:
    with slow_eval(tmp_path, lambda _: 0.0) as fake, probe_at(tmp_path) as probe:
        place = watch(probe, fake)
        state_file(tmp_path).write_text(content)
        assert probe.reply(probe.ask("get", **place, path="/x")).head["status"] == 200


def test_without_a_home_that_can_be_written_the_probe_reads_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".evalroom").write_text("a file")
    with slow_eval(tmp_path, lambda _: 0.0) as fake, probe_at(tmp_path) as probe:
        watch(probe, fake)
        assert probe.first("answer").head["status"] == 200
