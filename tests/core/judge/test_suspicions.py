"""From signs to findings: corroboration, worsening, closing, and what outlives a restart."""

from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig
from core.desk.past import Past, with_past
from core.desk.step import advance
from core.events import Event, ReadsUnchanged, TimePassed
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import TaskKey
from core.judge import suspicions
from core.judge.finding_list import with_findings
from core.judge.kinds import all_kinds, all_rules
from core.judge.sign import MAX_SIGNS, Kind, Scene, Sign, Signs, signs
from core.judge.suspicions import judge_signs
from core.model.finding import Finding
from core.model.sample import Activity, SampleId
from core.model.task import Task
from tests.support.fleets import (
    H1,
    NOW,
    judged_after,
    link,
    named,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

BEGIN: tuple[Event, ...] = (named(), link(), process_seen(), tasks_seen(task_row(model="acme/m")))
HANGS = sample(1, activity=Activity(type="tool", started_at=NOW, detail="bash"))


def stalled(*seconds: float) -> Fleet:
    return judged_after(*BEGIN, *(samples_seen(HANGS, at=NOW + each) for each in seconds))


def only(fleet: Fleet) -> Finding:
    [found] = [each for each in fleet.findings if each.kind == "stall"]
    return found


def test_each_kind_is_found_by_its_file_and_has_rules_of_its_own() -> None:
    assert "stall" in {each.name for each in all_kinds()}
    paths = [rule.path for rule in all_rules()]
    assert len(set(paths)) == len(paths)
    for kind in all_kinds():
        assert kind.help.endswith(".")
        assert all(rule.kind == kind.name for rule in kind.numbers)


def test_the_same_reading_counts_once() -> None:
    fleet = judged_after(*BEGIN)
    for _ in range(3):
        fleet = advance(fleet, samples_seen(HANGS, at=NOW + 500))
    assert fleet.findings == ()
    assert only(advance(fleet, samples_seen(HANGS, at=NOW + 501))).is_open


def test_a_finding_that_worsens_loses_its_acknowledgement() -> None:
    fleet = stalled(100, 125)
    seen = replace(only(fleet), acknowledged_at=NOW + 126)
    fleet = with_findings(fleet, [seen])
    still = only(advance(fleet, samples_seen(HANGS, at=NOW + 130)))
    assert still.acknowledged_at == NOW + 126
    worse = only(advance(fleet, samples_seen(HANGS, at=NOW + 700)))
    assert (worse.severity, worse.acknowledged_at) == ("alarm", None)


def test_what_says_the_same_is_not_written_again() -> None:
    fleet = stalled(100, 125)
    again = advance(fleet, samples_seen(HANGS, at=NOW + 130))
    assert only(again) is only(fleet)


def test_an_open_finding_goes_on_after_a_restart() -> None:
    found = only(stalled(100, 125))
    fresh = judged_after(*BEGIN[:2])
    fleet = with_past(fresh, Past(events=BEGIN[2:], findings=(found,), since=0.0))
    assert only(fleet).is_open
    on = only(advance(fleet, samples_seen(HANGS, at=NOW + 700)))
    assert (on.id, on.severity) == (found.id, "alarm")
    over = advance(fleet, samples_seen(sample(1, status="completed"), at=NOW + 700))
    assert only(over).closed_at == NOW + 700


def test_the_judge_forgets_what_left_the_fleet() -> None:
    fleet = stalled(100, 125)
    assert fleet.suspicions
    fleet = advance(fleet, process_gone(at=NOW + 130))
    gone = advance(fleet, TimePassed(at=NOW + 100_000, keep_gone=1.0))
    assert gone.tasks == {}
    assert gone.suspicions == {}
    assert not only(gone).is_open


def test_judging_never_changes_what_is_known() -> None:
    fleet = stalled(100)
    event = samples_seen(HANGS, at=NOW + 125)
    judged, folded = advance(fleet, event), fold(fleet, event)
    assert (judged.machines, judged.processes, judged.tasks) == (
        folded.machines, folded.processes, folded.tasks,
    )  # fmt: skip


def test_what_does_not_change_is_judged_when_it_may_show_something_else() -> None:
    fleet = judged_after(*BEGIN, samples_seen(HANGS, at=NOW + 1))
    opened: list[float] = []
    for seconds in range(2, 700):
        at = NOW + seconds
        fleet = advance(fleet, ReadsUnchanged(at=at, machine=H1, samples=((task_key(), at),)))
        found = [each for each in fleet.findings if each.kind == "stall"]
        if found and found[0].severity == ("suspect", "alarm")[len(opened) == 1]:
            opened.append(seconds)
        if len(opened) == 2:
            break
    assert opened == [120, 600]
    assert fleet.quiet_until[task_key()] > NOW + 600


def test_the_work_for_one_event_is_bounded_however_many_samples_are_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    def counted(scene: Scene, task: Task) -> Signs | None:
        nonlocal looks
        looks += len(task.samples)
        return signs(scene.at, (still_sign(scene, task, key) for key in task.samples))

    [stall] = [each for each in all_kinds() if each.name == "stall"]
    kinds: dict[str, tuple[Kind, ...]] = {"task": (replace(stall, of_task=counted),)}

    def kinds_on(scope: str, **_: bool) -> tuple[Kind, ...]:
        return kinds.get(scope, ())

    monkeypatch.setattr(suspicions, "_kinds_on", kinds_on)
    rows = [task_row(task_id=f"t{number}") for number in range(100)]
    fleet = judged_after(named(), link(), process_seen(), tasks_seen(*rows))
    many = [sample(number) for number in range(500)]
    for row in rows:
        fleet = fold(fleet, samples_seen(*many, task=task_key(row.task_id)))
    looks = 0
    fleet = judge_signs(fleet, tasks_seen(*rows, at=NOW + 1), JudgeConfig())
    assert 500 <= looks <= suspicions.MAX_WORK + 500
    assert sum(map(len, fleet.suspicions.values())) <= 3 * MAX_SIGNS


def test_tasks_that_one_event_has_no_time_for_are_judged_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tasks without samples take time too; those of a process take turns."""
    looks: list[TaskKey] = []

    def counted(scene: Scene, task: Task) -> Signs | None:
        looks.append(task.key)
        return signs(scene.at)

    [errors] = [each for each in all_kinds() if each.name == "errors"]
    kinds: dict[str, tuple[Kind, ...]] = {"task": (replace(errors, of_task=counted),)}

    def kinds_on(scope: str, **_: bool) -> tuple[Kind, ...]:
        return kinds.get(scope, ())

    monkeypatch.setattr(suspicions, "_kinds_on", kinds_on)
    monkeypatch.setattr(suspicions, "MAX_WORK", 20 * suspicions.KIND_WORK)
    rows = [task_row(task_id=f"t{number}", done=0) for number in range(60)]
    fleet = judged_after(named(), link(), process_seen(), tasks_seen(*rows))
    for turn in range(1, 4):
        looks.clear()
        fleet = judge_signs(fleet, tasks_seen(*rows, at=NOW + turn), JudgeConfig())
        assert len(looks) == 21
        if turn > 1:
            assert looks[0] == task_key(f"t{21 * turn % 60}")


def test_the_fleet_is_not_judged_for_each_event_that_is_older_than_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Frames of a machine wait for their turn, so events of several machines are not in order."""
    looks: list[float] = []

    def counted(scene: Scene) -> Signs | None:
        looks.append(scene.at)
        return signs(scene.at)

    [storm] = [each for each in all_kinds() if each.name == "retry-storm"]
    kinds: dict[str, tuple[Kind, ...]] = {"fleet": (replace(storm, of_fleet=counted),)}

    def kinds_on(scope: str, **_: bool) -> tuple[Kind, ...]:
        return kinds.get(scope, ())

    monkeypatch.setattr(suspicions, "_kinds_on", kinds_on)
    fleet = judged_after(named())
    looks.clear()
    for late in range(20):
        fleet = advance(fleet, link(at=NOW + 10 - late % 2))
    assert looks == [NOW + 10]
    fleet = advance(fleet, link(at=NOW - 3600))  # the desk's clock was set back
    assert looks == [NOW + 10, NOW - 3600]


def still_sign(scene: Scene, task: Task, key: SampleId) -> Sign:
    """Return a sign that a sample does nothing."""
    return Sign(
        key=str(key),
        severity=None,
        reading=scene.at,
        text="still",
        machine=task.key.machine,
        task=task.key,
    )


def test_kinds_that_look_at_samples_are_judged_when_samples_were_read_and_at_the_end() -> None:
    """A row that was read says nothing of samples, and is read far more often."""
    [stall] = [each for each in all_kinds() if each.name == "stall"]
    assert stall.by_samples
    tool = Activity(type="tool", started_at=NOW)
    hung = replace(sample(1, started_at=NOW - 5), activity=tool)
    fleet = judged_after(named(), link(), process_seen(), tasks_seen(task_row()))
    fleet = judged_after(samples_seen(hung, at=NOW + 100), fleet=fleet)
    rows = (tasks_seen(task_row(total_tokens=n), at=NOW + 200 + n) for n in range(9))
    fleet = judged_after(*rows, fleet=fleet)
    assert fleet.findings == ()
    fleet = judged_after(samples_seen(hung, at=NOW + 300), fleet=fleet)
    assert [each.is_open for each in fleet.findings] == [True]
    ended = tasks_seen(task_row(status="completed"), at=NOW + 301)
    fleet = judged_after(ended, fleet=fleet)
    assert [each.is_open for each in fleet.findings if each.kind == "stall"] == [False]
