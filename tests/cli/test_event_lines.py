"""The memory of a watch, so that it prints nothing twice."""

import tracemalloc

from cli.render.events import EventLines
from core.events import ProcessGone
from core.ids import ProcessKey, TaskKey
from core.model.process import ProcessState
from tests.support.fleets import H1, NOW, causes_seen, process_seen, sample, samples_seen


def test_a_watch_of_weeks_forgets_the_samples_of_processes_that_ended() -> None:
    lines = EventLines()

    def one_process(pid: int) -> None:
        process = ProcessKey(H1, pid, "s")
        rows = [sample(f"sample {number}", status="running") for number in range(500)]
        seen = samples_seen(*rows, task=TaskKey(process, "t"))
        assert len(lines.of(seen)) == 500
        assert lines.of(seen) == []
        lines.of(ProcessGone(at=NOW, process=process))

    one_process(0)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for pid in range(1, 20):
            one_process(pid)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 100_000


def test_a_cause_of_errors_is_told_once_and_without_control_characters() -> None:
    lines = EventLines()
    causes = ((1, 1, "E: bad"), (2, 1, "E: bad"), (3, 1, "E: \x1b[2J"))
    [bad, hidden] = lines.of(causes_seen(*causes))
    assert bad.endswith("a sample errored: E: bad")
    assert "\x1b" not in hidden
    assert lines.of(causes_seen(*causes)) == []


def test_a_process_is_reported_again_only_when_its_state_changes() -> None:
    lines = EventLines()
    live = ProcessState.LIVE
    found = [lines.of(process_seen(state=live, started_at=at)) for at in (NOW - 9, NOW - 8)]
    found.append(lines.of(process_seen(state=ProcessState.BUSY)))
    assert [len(each) for each in found] == [1, 0, 1]
