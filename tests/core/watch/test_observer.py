"""Frames of a probe become events, and the fleet becomes a list of polls."""

import json
from collections.abc import Mapping
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
    OperationsSeen,
    ProbeAnswered,
    ProcessesCut,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    ReadsUnchanged,
    SamplesSeen,
    ScoreSeen,
    TasksSeen,
)
from core.fleet import Fleet
from core.fold.fold import fold
from core.frames import Frame, encode
from core.ids import ProcessKey, TaskKey
from core.model.limits import MAX_PROCESS_OPERATIONS, MAX_PROCESSES
from core.model.machine import LinkState
from core.model.operation import Operation
from core.model.process import ProcessState, SlowPoll
from core.watch.observer import Observer
from tests.support.fleets import H1, NOW, fleet_after, named

KEY = ProcessKey(H1, 7, "b:1")
TASK = TaskKey(KEY, "t")
ROW = {
    "task_id": "t", "eval_id": "e", "task": "ctf", "status": "running", "started_at": NOW - 600,
    "samples": {"total": 9, "in_flight": 2},
}  # fmt: skip


class Watched:
    """An observer with the fleet that its events make, and the probe's clock."""

    def __init__(self) -> None:
        self.observer = Observer(H1, WatchConfig())
        self.fleet = Fleet()
        self.now = NOW
        self.set: dict[str, Mapping[str, Any]] = {}

    def receive(self, kind: str, body: object = None, **head: Any) -> list[Event]:
        """The events of a frame, without the link's."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        events = self.observer.events_of(Frame(kind, {"at": self.now, **head}, raw), self.now)
        for event in events:
            self.fleet = fold(self.fleet, event)
        return [event for event in events if not isinstance(event, LinkHeard)]

    def hello(self) -> list[Event]:
        self.set = {}
        return self.receive("hello", host="h", python="3.8.1", platform="Linux", user="op", pid=1)

    def processes(self, *rows: Mapping[str, Any]) -> list[Event]:
        base = {"pid": 7, "start": "b:1", "socket_path": "/s", "api_version": 8, "alive": True,
                "channel": "ok", "waiting_since": None}  # fmt: skip
        return self.receive("processes", [{**base, **row} for row in rows])

    def steer(self, focus: TaskKey | None = None) -> list[Frame]:
        frames = list(self.observer.frames(self.fleet, focus, self.now))
        for frame in frames:
            assert encode(frame)
            name = str(frame.head["name"])
            if frame.kind == "unwatch":
                self.set.pop(name, None)
            else:
                self.set[name] = frame.head
        return frames

    def name_of(self, sign: str) -> str:
        (name,) = [name for name in self.set if name.startswith(sign)]
        return name

    def answer(self, sign: str, body: object, **head: Any) -> list[Event]:
        place = {"pid": 7, "start": "b:1", "name": self.name_of(sign)}
        return self.receive("answer", body, **place, **{"status": 200, "took": 0.01, **head})

    def trouble(self, sign: str, error: str) -> list[Event]:
        place = {"pid": 7, "start": "b:1", "name": self.name_of(sign)}
        return self.receive("trouble", **place, error=error)

    def samples(self, *rows: tuple[int, str], sign: str = "s/", **more: Any) -> list[Event]:
        envelope = {
            "as_of": self.now,
            "counts": {"running": 0},
            "samples": [{"sample_id": n, "epoch": 1, "status": status} for n, status in rows],
            "truncated": False,
        }
        return self.answer(sign, {**envelope, **more})


@pytest.fixture
def watched() -> Watched:
    """With one process and one running task, polled."""
    found = Watched()
    found.hello()
    found.processes({})
    found.steer()
    found.answer("tasks", [ROW])
    found.steer()
    return found


def test_polls_that_wait_long_are_read_by_their_names() -> None:
    watched = Watched()
    good = [{"name": "tasks", "wait": 60, "took": 3.1}, {"name": "s/t/e/0", "wait": 20, "took": 1}]
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
    watched = Watched()
    frame = Frame("hello", {"at": NOW + 90.0, "python": "3.8", "pid": 4, "read_only": True})
    (event,) = [
        event
        for event in watched.observer.events_of(frame, NOW)
        if isinstance(event, ProbeAnswered)
    ]
    assert event.probe.clock_offset == 90.0
    assert event.probe.read_only


def test_a_new_probe_gets_everything_again(watched: Watched) -> None:
    before = dict(watched.set)
    assert watched.steer() == []
    watched.hello()
    watched.processes({})
    frames = watched.steer()
    assert {frame.head["name"] for frame in frames} == set(before)
    assert all(frame.kind == "watch" for frame in frames)


def test_facts_are_read_and_unreadable_ones_change_nothing() -> None:
    watched = Watched()
    (event,) = watched.receive("facts", {"at": NOW, "cpus": 8, "load": [1, 2, 3], "brand_new": 1})
    assert isinstance(event, MachineRead)
    assert event.facts.cpus == 8
    assert watched.receive("facts", b"<html>") == []


# -- processes


def test_a_process_is_reported_once_and_then_when_it_changes(watched: Watched) -> None:
    assert watched.processes({}) == []
    (event,) = watched.processes({"run_id": "r"})
    assert isinstance(event, ProcessSeen)
    assert event.run_id == "r"


def test_a_process_that_starts_says_so() -> None:
    watched = Watched()
    assert states(watched.processes({"channel": "new"})) == [ProcessState.STARTING]
    assert states(watched.processes({"channel": "ok"})) == [ProcessState.LIVE]
    assert states(watched.processes({"channel": "off"})) == [ProcessState.OPTED_OUT]


def test_silence_is_busy_and_then_starved_and_an_answer_ends_it(watched: Watched) -> None:
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


def test_a_living_process_without_its_server_is_headless_after_a_moment(watched: Watched) -> None:
    watched.processes({"channel": "refused"})
    assert watched.fleet.processes[KEY].state is ProcessState.LIVE
    watched.now += 6.0
    assert states(watched.receive("beat")) == [ProcessState.HEADLESS]
    assert states(watched.processes({})) == [ProcessState.LIVE]


@pytest.mark.parametrize("channel", ["ok", "refused", "off"])
def test_a_new_probe_that_has_not_asked_a_process_yet_leaves_its_state(
    watched: Watched, channel: str
) -> None:
    watched.processes({"channel": channel})
    watched.now += 6.0
    watched.receive("beat")
    state = watched.fleet.processes[KEY].state
    watched.hello()
    watched.processes({"channel": "new"})
    assert watched.fleet.processes[KEY].state is state


def test_a_process_ends_once(watched: Watched) -> None:
    events = watched.processes({"alive": False, "ended_at": watched.now})
    assert [type(event) for event in events] == [ProcessGone]
    assert watched.processes({"alive": False, "ended_at": watched.now}) == []
    assert watched.processes() == []
    assert {frame.kind for frame in watched.steer()} == {"unwatch"}
    assert watched.set == {}


def test_one_that_ended_while_nobody_watched_is_gone(watched: Watched) -> None:
    watched.hello()
    assert [type(event) for event in watched.processes()] == [ProcessGone]


def test_one_that_ended_while_no_room_was_open_is_gone_and_one_that_lives_is_reported() -> None:
    watched = Watched()
    dead = ProcessKey(H1, 9, "b:1")
    watched.observer.expect([KEY, dead])
    watched.hello()
    events = watched.processes({})
    assert [event.process for event in events if isinstance(event, ProcessGone)] == [dead]
    assert [event.process for event in events if isinstance(event, ProcessSeen)] == [KEY]


def test_one_that_nobody_saw_end_was_last_seen_with_the_last_frame_of_the_former_probe(
    watched: Watched,
) -> None:
    left_at = watched.now
    watched.now += 3_600
    watched.hello()
    [gone] = watched.processes()
    assert isinstance(gone, ProcessGone)
    assert gone.last_seen_at == left_at


def test_an_eval_that_died_unseen_is_reported_once_by_each_probe_unless_that_is_long_ago(
    watched: Watched,
) -> None:
    dead = {"pid": 9, "start": "files-1", "alive": False, "channel": "dead", "logs": ["/l/a.eval"]}
    rows = ({**dead, "ended_at": watched.now - 60}, {**dead, "pid": 8, "ended_at": 5.0})
    [found] = watched.processes({}, *rows)
    assert isinstance(found, DeadEvalFound)
    assert (found.process.pid, found.logs) == (9, ("/l/a.eval",))
    assert watched.processes({}, *rows) == []
    watched.hello()
    assert [type(event) for event in watched.processes({}, *rows)] == [DeadEvalFound]


def test_one_that_came_and_went_between_two_polls_is_reported(watched: Watched) -> None:
    events = watched.processes({}, {"pid": 8, "alive": False, "ended_at": watched.now})
    assert [type(event) for event in events] == [ProcessSeen, ProcessGone]


def test_a_reused_pid_is_another_process(watched: Watched) -> None:
    events = watched.processes({"start": "b:2"})
    assert [type(event) for event in events] == [ProcessGone, ProcessSeen]


def test_a_parked_process_is_parked_again_after_it_was_busy(watched: Watched) -> None:
    over = {**ROW, "status": "completed", "keep_alive": True, "completed_at": NOW}
    watched.answer("tasks", [over])
    assert watched.fleet.processes[KEY].state is ProcessState.PARKED
    watched.processes({"channel": "waiting", "waiting_since": watched.now - 5})
    assert watched.fleet.processes[KEY].state is ProcessState.BUSY
    watched.processes({})
    assert watched.fleet.processes[KEY].state is ProcessState.PARKED


# -- answers


def test_an_answer_is_the_whole_task_list_with_its_bad_rows_as_sentences(
    watched: Watched,
) -> None:
    (event,) = watched.answer("tasks", [ROW, {"task": "no id"}])
    assert isinstance(event, TasksSeen)
    assert [row.task_id for row in event.rows] == ["t"]
    assert event.malformed == ("a task row lacks its task id or eval id",)
    assert event.as_of == watched.now


def test_the_first_sample_list_is_whole_and_the_next_are_deltas(watched: Watched) -> None:
    (first,) = watched.samples((1, "running"), (2, "pending"))
    (second,) = watched.samples((1, "completed"))
    assert isinstance(first, SamplesSeen)
    assert isinstance(second, SamplesSeen)
    assert (first.whole, second.whole) == (True, False)
    assert first.eval_id == "e"
    statuses = {row.sample_id: row.status for row in watched.fleet.tasks[TASK].samples.values()}
    assert statuses == {1: "completed", 2: "pending"}


def test_counts_that_the_rows_can_not_have_are_read_whole_again(watched: Watched) -> None:
    watched.samples((1, "running"), counts={"running": 1})
    name = watched.name_of("s/")
    watched.now += 20
    watched.samples(counts={"running": 0, "cancelled": 1})
    watched.steer()
    again = watched.name_of("s/")
    assert again != name
    (event,) = watched.samples((1, "cancelled"), counts={"cancelled": 1})
    assert isinstance(event, SamplesSeen)
    assert event.whole
    watched.now += 20
    watched.steer()
    assert watched.name_of("s/") == again


def test_a_delta_that_was_cut_is_read_whole_again(watched: Watched) -> None:
    watched.samples((1, "running"), counts={"running": 1})
    name = watched.name_of("s/")
    watched.now += 20
    watched.steer()
    assert watched.name_of("s/") == name
    watched.samples((1, "running"), counts={"running": 1}, truncated=True)
    watched.steer()
    assert watched.name_of("s/") != name


def test_a_list_is_not_read_whole_again_in_a_rush(watched: Watched) -> None:
    for tenth in range(100):
        watched.now = NOW + tenth / 10
        watched.samples((1, "running"), counts={"running": 5})
        watched.steer(TASK)
    assert 1 <= int(watched.name_of("s/").rsplit("/", 1)[1]) <= 2


def test_a_running_list_that_is_focused_adds_to_what_is_known(watched: Watched) -> None:
    watched.steer(TASK)
    watched.samples((1, "running"), (2, "pending"))
    (event,) = watched.samples((1, "running"), sign="r/")
    assert isinstance(event, SamplesSeen)
    assert not event.whole
    watched.steer()
    with pytest.raises(ValueError, match="not enough"):
        watched.name_of("r/")


def test_a_new_attempt_is_polled_instead_of_the_old_one(watched: Watched) -> None:
    watched.answer("tasks", [{**ROW, "eval_id": "e2", "attempts": 2}])
    frames = watched.steer()
    assert {frame.kind for frame in frames} == {"watch", "unwatch"}
    assert watched.name_of("s/").startswith("s/t/e2/")
    (event,) = watched.samples((1, "running"))
    assert isinstance(event, SamplesSeen)
    assert (event.eval_id, event.whole) == ("e2", True)


def test_an_answer_to_a_poll_that_was_ended_says_nothing(watched: Watched) -> None:
    place = {"pid": 7, "start": "b:1", "name": "s/old", "status": 200}
    assert watched.receive("answer", {"samples": []}, **place) == []


def test_an_old_server_without_counts_is_counted(watched: Watched) -> None:
    (event,) = watched.answer(
        "s/", {"samples": [{"sample_id": 1, "epoch": 1, "status": "running"}], "as_of": 5}
    )
    assert isinstance(event, SamplesSeen)
    assert event.counts.running == 1


def test_operations_of_a_trace_are_short_whatever_the_machine_sends(watched: Watched) -> None:
    row = {"action": "a" * 9_000, "what": "w" * 9_000, "words": "x" * 9_000, "since": NOW}
    many = [{**row, "task": "t" * 900, "sample_id": "s" * 900, "epoch": 1}] * 1_200
    (event,) = watched.receive("doing", [{**row, "words": "x" * 40_000}, *many], pid=7, start="b:1")
    assert isinstance(event, OperationsSeen)
    assert len(event.operations) == MAX_PROCESS_OPERATIONS
    short = Operation(action="a" * 200, what="w" * 200, words="x" * 200, since=NOW)
    assert set(event.operations) == {short}


def test_what_a_machine_lists_once_is_not_remembered(watched: Watched) -> None:
    for turn in range(3):
        dead = {"start": f"b:{turn}", "channel": "dead", "ended_at": NOW, "logs": ["/l/a.eval"]}
        rows = [{"pid": pid, **dead} for pid in range(500)]
        assert len(watched.receive("processes", rows)) >= 500
    assert len(watched.observer._found) == 500


def test_processes_of_long_commands_count_as_several(watched: Watched) -> None:
    long = {"start": "b:1", "channel": "ok", "argv": ["ab"] * 4_000}
    rows = [{"pid": pid, **long} for pid in range(1_000)]
    events = watched.receive("processes", rows)
    seen = [each for each in events if isinstance(each, ProcessSeen)]
    assert sum(each.units for each in seen) <= MAX_PROCESSES < 1_000 * seen[0].units
    (cut,) = [each for each in events if isinstance(each, ProcessesCut)]
    assert cut.left_out == 1_000 - len(seen)


def test_operations_of_a_trace_are_reported_and_bad_rows_left_out(watched: Watched) -> None:
    row = {"action": "Subprocess", "what": "docker exec", "words": "ls", "since": NOW, "count": 2}
    good = {**row, "task": "t", "sample_id": "s1", "epoch": 1}
    bad: list[object] = [3, {}, {**row, "since": "x"}, {**row, "what": ""}]
    place = {"pid": 7, "start": "b:1"}
    (event,) = watched.receive(
        "doing", [good, {**row, "sample_id": True, "epoch": 1}, *bad], **place
    )
    assert isinstance(event, OperationsSeen)
    assert [(each.what, each.sample, each.count) for each in event.operations] == [
        ("docker exec", ("s1", 1), 2), ("docker exec", None, 2),
    ]  # fmt: skip
    assert watched.receive("doing", {"no": "list"}, **place) == []
    assert watched.receive("doing", [], pid=8, start="b:1") == []


def test_a_running_score_is_reported_and_its_lack_is_not_a_failure(watched: Watched) -> None:
    assert watched.trouble("p/", "http 404") == []
    metrics = {"metrics": {"accuracy": 0.5, "stderr": 0.1}, "scorer": "includes"}
    (event,) = watched.answer("p/", {"result": {"metrics": [metrics]}})
    assert isinstance(event, ScoreSeen)
    assert [(each.value, each.stderr) for each in event.metrics] == [(0.5, 0.1)]
    assert watched.answer("p/", {"running": True, "result": None}) == []


def test_a_read_that_fails_is_reported_once_until_it_changes(watched: Watched) -> None:
    (event,) = watched.trouble("tasks", "http 500")
    assert isinstance(event, ReadFailed)
    assert (event.what, event.reason) == ("tasks", "http 500")
    assert watched.trouble("tasks", "http 500") == []
    (event,) = watched.trouble("tasks", "too large")
    (event,) = watched.answer("tasks", b"<html>")
    assert isinstance(event, ReadFailed)
    assert isinstance(watched.answer("tasks", [ROW])[0], TasksSeen)
    assert len(watched.trouble("tasks", "http 500")) == 1


def test_a_channel_that_is_not_there_is_the_processs_state_and_no_failed_read(
    watched: Watched,
) -> None:
    assert watched.trouble("tasks", "refused") == []


def test_polls_without_a_change_keep_rows_fresh(watched: Watched) -> None:
    watched.samples((1, "running"), counts={"running": 1})
    watched.now += 5
    polls = [[7, "b:1", name, watched.now - 1, 0.01] for name in watched.set]
    others = [[7, "b:1", "unknown", 1, 1], "no poll", [1]]
    others += [[7, "b:1", name, clock, 1] for name in watched.set for clock in (10**400, nan, "x")]
    (event,) = watched.receive("beat", polls=[*others, *polls])
    assert isinstance(event, ReadsUnchanged)
    task = watched.fleet.tasks[TASK]
    assert (task.as_of, task.heard_at) == (watched.now - 1, watched.now)
    assert task.samples_heard_at == watched.now


# -- whatever comes


HEADS = st.dictionaries(
    st.sampled_from(["at", "pid", "start", "name", "status", "polls", "error", "took", "as_of"]),
    st.none() | st.integers(-1, 300) | st.floats() | st.text(max_size=5) | st.booleans()
    | st.sampled_from(["tasks", "b:1", 7, 200]) | st.lists(st.lists(st.integers() | st.text())),
)  # fmt: skip


def test_a_clock_that_was_set_is_noticed_by_two_beats_and_a_late_beat_is_not() -> None:
    watched = Watched()
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
    watched = Watched()
    watched.hello()
    watched.processes({})
    watched.steer()
    for kind, head, body in heads:
        watched.receive(kind, body, **{"at": NOW, **head})
        watched.steer()


def test_a_number_of_the_host_beyond_64_bits_is_unknown(watched: Watched) -> None:
    gpu = {"index": 0, "memory_used": 10**400, "memory_total": 10**30, "temperature": 61.0}
    (event,) = watched.receive("facts", {"at": NOW, "gpus": [gpu], "cpus": 2**63})
    assert isinstance(event, MachineRead)
    [read] = event.facts.gpus
    assert (read.memory_used, read.memory_total, read.temperature) == (None, None, 61.0)
    assert event.facts.cpus is None
