"""Frames of a probe become events, and the fleet becomes a list of polls."""

from math import nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.config.model import WatchConfig
from core.events import (
    ClockMoved,
    DeadEvalFound,
    Event,
    LinkChanged,
    LinkHeard,
    MachineRead,
    ProbeAnswered,
    ProcessGone,
    ProcessSeen,
)
from core.frames import Frame
from core.ids import ProcessKey
from core.model.machine import LinkState
from core.model.process import ProcessState, SlowPoll
from core.watch.observer import Observer
from tests.support.fleets import H1, NOW, fleet_after, named
from tests.support.observing import KEY, ROW, Observed


def test_polls_that_wait_long_are_read_by_their_names() -> None:
    watched = Observed()
    good = [{"name": "tasks", "wait": 60, "took": 3.1}, {"name": "s/t/e/0", "wait": 20, "took": 1}]
    good += [{"name": "r/t/e/", "wait": 20, "took": 0.01}]  # it shares the pauses of the one before
    odd: list[Any] = [
        {"name": "p/t/e/", "wait": 60, "took": 1}, {"name": "tasks", "wait": nan, "took": 1},
        {"name": 3, "wait": 60, "took": 1}, {"name": "s/", "wait": 60, "took": 1}, 7, None,
    ]  # fmt: skip
    watched.processes({"slow_polls": [*odd, *good]})
    read = SlowPoll(wait=60.0, answer=3.1), SlowPoll(wait=20.0, answer=1.0, task_id="t")
    assert watched.fleet.processes[KEY].slow_polls == read
    watched.processes({"slow_polls": "x"})
    assert watched.fleet.processes[KEY].slow_polls == ()


def states(events: list[Event]) -> list[ProcessState]:
    return [event.state for event in events if isinstance(event, ProcessSeen)]


# -- the link and the probe


def test_a_changed_link_is_reported_at_once_and_its_frames_once_in_three() -> None:
    observer = Observer(H1, WatchConfig())
    change = LinkChanged(at=NOW, machine=H1, state=LinkState.UP)
    assert observer.events_of(change, NOW) == (change,)
    received = [
        event
        for tenth in range(91)
        for event in observer.events_of(Frame("beat", {"at": NOW}), NOW + tenth / 10)
    ]
    assert 2 <= len(received) <= 3
    assert all(isinstance(event, LinkHeard) for event in received)


def test_a_probe_that_says_hello_is_reported_with_its_clock() -> None:
    watched = Observed()
    frame = Frame("hello", {"at": NOW + 90.0, "python": "3.8", "pid": 4})
    (event,) = [
        event
        for event in watched.observer.events_of(frame, NOW)
        if isinstance(event, ProbeAnswered)
    ]
    assert event.probe.clock_offset == 90.0


def test_a_new_probe_gets_everything_again(watched: Observed) -> None:
    before = dict(watched.set)
    assert watched.steer() == []
    watched.hello()
    watched.processes({})
    frames = watched.steer()
    assert {frame.head["name"] for frame in frames} == set(before)
    assert all(frame.kind == "watch" for frame in frames)


def test_facts_are_read_and_unreadable_ones_change_nothing() -> None:
    watched = Observed()
    (event,) = watched.receive("facts", {"at": NOW, "cpus": 8, "load": [1, 2, 3], "brand_new": 1})
    assert isinstance(event, MachineRead)
    assert event.facts.cpus == 8
    assert watched.receive("facts", b"<html>") == []


# -- processes


def test_a_process_is_reported_once_and_then_when_it_changes(watched: Observed) -> None:
    assert watched.processes({}) == []
    (event,) = watched.processes({"run_id": "r"})
    assert isinstance(event, ProcessSeen)
    assert event.run_id == "r"


def test_a_process_that_starts_says_so() -> None:
    watched = Observed()
    assert states(watched.processes({"channel": "new"})) == [ProcessState.STARTING]
    assert states(watched.processes({"channel": "ok"})) == [ProcessState.LIVE]
    assert states(watched.processes({"channel": "off"})) == [ProcessState.OPTED_OUT]


def test_silence_is_busy_and_then_starved_and_an_answer_ends_it(watched: Observed) -> None:
    asked = watched.now
    watched.now += 1.1
    assert states(watched.processes({"channel": "waiting", "waiting_since": asked})) == [
        ProcessState.LIVE
    ]
    seen = list[ProcessState]()
    for _ in range(12):
        watched.now += 1.0
        seen += states(watched.receive("beat"))
    assert seen == [ProcessState.BUSY, ProcessState.STARVED]
    assert states(watched.processes({})) == [ProcessState.LIVE]


def test_a_living_process_without_its_server_is_headless_after_a_moment(watched: Observed) -> None:
    watched.processes({"channel": "refused"})
    assert watched.fleet.processes[KEY].state is ProcessState.LIVE
    watched.now += 6.0
    assert states(watched.receive("beat")) == [ProcessState.HEADLESS]
    assert states(watched.processes({})) == [ProcessState.LIVE]


@pytest.mark.parametrize("channel", ["ok", "refused", "off"])
def test_a_new_probe_that_has_not_asked_a_process_yet_leaves_its_state(
    watched: Observed, channel: str
) -> None:
    watched.processes({"channel": channel})
    watched.now += 6.0
    watched.receive("beat")
    state = watched.fleet.processes[KEY].state
    watched.hello()
    watched.processes({"channel": "new"})
    assert watched.fleet.processes[KEY].state is state


def test_a_process_ends_once(watched: Observed) -> None:
    events = watched.processes({"alive": False, "ended_at": watched.now})
    assert [type(event) for event in events] == [ProcessGone]
    assert watched.processes({"alive": False, "ended_at": watched.now}) == []
    assert watched.processes() == []
    assert {frame.kind for frame in watched.steer()} == {"unwatch"}
    assert watched.set == {}


def test_one_that_ended_while_nobody_watched_is_gone(watched: Observed) -> None:
    watched.hello()
    assert [type(event) for event in watched.processes()] == [ProcessGone]


def test_one_that_ended_while_no_room_was_open_is_gone_and_one_that_lives_is_reported() -> None:
    watched = Observed()
    dead = ProcessKey(H1, 9, "b:1")
    watched.observer.expect([KEY, dead])
    watched.hello()
    events = watched.processes({})
    assert [event.process for event in events if isinstance(event, ProcessGone)] == [dead]
    assert [event.process for event in events if isinstance(event, ProcessSeen)] == [KEY]


def test_one_that_nobody_saw_end_was_last_seen_with_the_last_frame_of_the_former_probe(
    watched: Observed,
) -> None:
    left_at = watched.now
    watched.now += 3_600
    watched.hello()
    [gone] = watched.processes()
    assert isinstance(gone, ProcessGone)
    assert gone.last_seen_at == left_at


def test_an_eval_that_died_unseen_is_reported_once_by_each_probe_unless_that_is_long_ago(
    watched: Observed,
) -> None:
    dead = {"pid": 9, "start": "files-1", "alive": False, "channel": "dead", "logs": ["/l/a.eval"]}
    rows = ({**dead, "ended_at": watched.now - 60}, {**dead, "pid": 8, "ended_at": 5.0})
    [found] = watched.processes({}, *rows)
    assert isinstance(found, DeadEvalFound)
    assert (found.process.pid, found.logs) == (9, ("/l/a.eval",))
    assert watched.processes({}, *rows) == []
    watched.hello()
    assert [type(event) for event in watched.processes({}, *rows)] == [DeadEvalFound]


def test_one_that_came_and_went_between_two_polls_is_reported(watched: Observed) -> None:
    events = watched.processes({}, {"pid": 8, "alive": False, "ended_at": watched.now})
    assert [type(event) for event in events] == [ProcessSeen, ProcessGone]


@pytest.mark.parametrize("listed", ["", "/l/a.eval", "file:///l/a.eval"])
def test_logs_of_an_ended_eval_are_reported_if_its_tasks_were_not_listed(listed: str) -> None:
    watched = Observed()
    watched.hello()
    watched.processes({})
    watched.steer()
    if listed:
        watched.answer("tasks", [{**ROW, "log_location": listed}])
    ended = {"alive": False, "ended_at": watched.now, "logs": ["/l/a.eval"]}
    events = [type(event) for event in watched.processes(ended)]
    assert events == ([ProcessGone] if listed else [ProcessGone, DeadEvalFound])
    assert watched.processes(ended) == []


def test_a_reused_pid_is_another_process(watched: Observed) -> None:
    events = watched.processes({"start": "b:2"})
    assert [type(event) for event in events] == [ProcessGone, ProcessSeen]


def test_a_parked_process_is_parked_again_after_it_was_busy(watched: Observed) -> None:
    over = {**ROW, "status": "completed", "keep_alive": True, "completed_at": NOW}
    watched.answer("tasks", [over])
    assert watched.fleet.processes[KEY].state is ProcessState.PARKED
    watched.processes({"channel": "waiting", "waiting_since": watched.now - 5})
    assert watched.fleet.processes[KEY].state is ProcessState.BUSY
    watched.processes({})
    assert watched.fleet.processes[KEY].state is ProcessState.PARKED


# -- answers


HEADS = st.dictionaries(
    st.sampled_from(["at", "pid", "start", "name", "status", "polls", "error", "took", "as_of"]),
    st.none() | st.integers(-1, 300) | st.floats() | st.text(max_size=5) | st.booleans()
    | st.sampled_from(["tasks", "b:1", 7, 200]) | st.lists(st.lists(st.integers() | st.text())),
)  # fmt: skip


def test_a_clock_that_was_set_is_noticed_by_two_beats_and_a_late_beat_is_not() -> None:
    watched = Observed()
    watched.hello()

    def beat(offset: float) -> list[float]:
        watched.now += 5.0
        beat_at = Frame("beat", {"at": watched.now + offset})
        events = watched.observer.events_of(beat_at, watched.now)
        return [event.offset for event in events if isinstance(event, ClockMoved)]

    assert beat(0.3) == beat(-40.0) == beat(0.1) == []  # one came late
    assert beat(3_600.0) == []
    assert beat(3_600.5) == [3_600.5]
    assert beat(3_600.2) == []
    fleet = fleet_after(named(), *watched.hello(), ClockMoved(at=NOW, machine=H1, offset=9.0))
    probe = fleet.machines[H1].probe
    assert probe is not None
    assert probe.clock_offset == 9.0


KINDS = st.sampled_from(["hello", "processes", "answer", "beat", "trouble", "facts", "bye", "x"])
BODIES = st.binary(max_size=20) | st.sampled_from(
    [b"[]", b"{}", b"[7]", b'[{"pid":7,"start":"b:1","waiting_since":"x"}]', b'[{"task_id":7}]']
)


@settings(max_examples=100)
@given(heads=st.lists(st.tuples(KINDS, HEADS, BODIES), max_size=6))
def test_no_frame_breaks_the_observer(heads: list[tuple[str, dict[str, Any], bytes]]) -> None:
    watched = Observed()
    watched.hello()
    watched.processes({})
    watched.steer()
    for kind, head, body in heads:
        watched.receive(kind, body, **{"at": NOW, **head})
        watched.steer()


def test_a_number_of_the_host_beyond_64_bits_is_unknown(watched: Observed) -> None:
    gpu = {"index": 0, "memory_used": 10**400, "memory_total": 10**30, "temperature": 61.0}
    (event,) = watched.receive("facts", {"at": NOW, "gpus": [gpu], "cpus": 2**63})
    assert isinstance(event, MachineRead)
    [read] = event.facts.gpus
    assert (read.memory_used, read.memory_total, read.temperature) == (None, None, 61.0)
    assert event.facts.cpus is None
