"""The action menu: its offers for each target, their words, and why one is unavailable."""

from dataclasses import replace

from core.fleet import Fleet
from core.ids import MachineName, SampleKey
from core.model.action import OFFERS, Action, Verb, offers_on
from core.model.log_summary import LogBuffer
from core.model.machine import LinkState
from core.model.process import ProcessState
from core.model.sample import Activity, ToolCall
from core.views.actions.action_menu import (
    MenuEntry,
    buttons,
    endings,
    entries,
    pause_or_resume,
    read_only,
)
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    fleet_after,
    link,
    log_read,
    named,
    process_gone,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)


def fleet(*, read_only: bool = False) -> Fleet:
    """Two machines; two processes of one model on the first, one of it on the second."""
    return fleet_after(
        replace(named(H1), read_only=read_only),
        named(H2),
        link(LinkState.UP, H1),
        link(LinkState.UP, H2),
        process_seen(),
        process_seen(pid=101),
        process_seen(H2, 200),
        tasks_seen(task_row(errored=2, queued=4)),
        tasks_seen(task_row("t2", paused=("task",)), pid=101),
        tasks_seen(task_row("t3"), machine=H2, pid=200),
    )


def by_name(found: tuple[MenuEntry, ...]) -> dict[str, MenuEntry]:
    return {each.name: each for each in found}


def test_every_offer_of_a_scope_is_in_its_menu_with_its_letter() -> None:
    for place in (task_key(), process_key(), SampleKey(task_key(), 1, 1)):
        found = [each for each in entries(fleet(), [place]) if not each.heading]
        letters = [each.letter for each in found]
        assert len(set(letters)) == len(letters)
        assert all(each.help for each in found)
        unavailable = [each.name for each in found if each.why_not is not None]
        assert unavailable == (["recover"] if place == task_key() else [])
    names = {each.name for each in entries(fleet(), [task_key()])}
    assert {each.name for each in offers_on("task")} <= names
    assert "requeue" in names


def test_a_model_is_offered_here_on_its_machine_and_on_the_fleet() -> None:
    found = by_name(entries(fleet(), [task_key()]))
    for name, reached in (
        ("model-pause", 1),
        ("model-pause-machine", 2),
        ("model-resume-fleet", 3),
    ):
        assert len(found[name].places) == reached
        assert found[name].heading == "model acme/sec-agent"
    assert found["model-pause-now-fleet"].action == Action(verb=Verb.PAUSE, now=True)
    assert [found[f"model-{each}"].letter for each in ("pause", "pause-now", "resume")] == [
        "1", "2", "3",
    ]  # fmt: skip


def test_on_a_machine_the_menu_is_of_its_processes() -> None:
    found = by_name(entries(fleet(), [H1]))
    assert found["interrupt"].title == "Interrupt: 2 processes of h100-1".replace(":", "")
    assert "drain" not in found
    nobody = by_name(entries(fleet_after(named(H1), link()), [H1]))
    assert nobody["keep"].why_not == "no eval is running there"


def test_an_unavailable_action_says_why() -> None:
    down = fleet_after(named(), link(LinkState.DOWN), process_seen(), tasks_seen(task_row()))
    assert by_name(entries(down, [task_key()]))["pause"].why_not == (
        "h100-1 is not reachable now (down)"
    )
    headless = fleet_after(
        named(), link(), process_seen(state=ProcessState.HEADLESS), tasks_seen(task_row())
    )
    found = by_name(entries(headless, [process_key()]))
    assert "accepts only signals" in (found["pause"].why_not or "")
    assert found["kill"].why_not is None
    gone = fleet_after(named(), link(), process_seen(), tasks_seen(task_row()), process_gone())
    found = by_name(entries(gone, [task_key()]))
    assert {name for name, each in found.items() if each.why_not is None} == {"recover"}
    whole = fleet_after(log_read("success"), fleet=gone)
    assert "is complete" in (by_name(entries(whole, [task_key()]))["recover"].why_not or "")
    held = log_read("started", buffer=LogBuffer(completed=1, in_progress=0))
    assert by_name(entries(fleet_after(held, fleet=gone), [task_key()]))["recover"].why_not is None
    over = fleet_after(named(), link(), process_seen(), tasks_seen(task_row(status="completed")))
    found = by_name(entries(over, [task_key()]))
    assert found["drain"].why_not == "the task is already finished"
    assert found["flush"].why_not is None


def test_a_menu_says_to_how_many_targets_an_action_applies() -> None:
    mixed = fleet_after(
        named(), link(), process_seen(), tasks_seen(task_row(), task_row("t2", status="completed"))
    )
    entry = by_name(entries(mixed, [task_key(), task_key("t2")]))["drain"]
    assert (entry.some, entry.why_not, entry.title) == ("1 of 2", None, "Drain 2 tasks")


def test_a_read_only_machine_has_no_mutation_and_one_line_says_so() -> None:
    guarded = fleet(read_only=True)
    assert entries(guarded, [task_key()]) == ()
    assert read_only(guarded, [task_key()]) == "h100-1 is read-only: evalroom changes nothing there"
    assert buttons(guarded, [task_key()]) == ()
    assert read_only(guarded, [task_key(), task_key("t3", H2, 200)]) is None
    assert read_only(guarded, [MachineName("nowhere")]) is None


def test_one_key_pauses_and_resumes() -> None:
    known = fleet()
    held, runs = task_key("t2", H1, 101), task_key()
    assert pause_or_resume(known, [held]).verb is Verb.RESUME
    assert pause_or_resume(known, [runs]).verb is Verb.PAUSE
    assert pause_or_resume(known, [held, runs]).verb is Verb.PAUSE
    assert pause_or_resume(known, [H1]).verb is Verb.PAUSE


def test_ways_to_end_go_from_the_gentlest_and_name_the_calls_in_progress() -> None:
    calls = (
        ToolCall(id="a", function="bash", started_at=NOW - 252),
        ToolCall(id="b", function="py\x1b[31mthon", started_at=NOW - 2, cancel_requested=True),
    )
    row = sample(1, activity=Activity(type="tool", calls=calls, started_at=NOW - 252))
    known = fleet_after(named(), link(), process_seen(), tasks_seen(task_row()), samples_seen(row))
    key = SampleKey(task_key(), 1, 1)
    found = endings(known, [key])
    assert [each.action.manner for each in found[:3]] == ["score", "error", "cancel"]
    assert [each.word for each in found[3:]] == ["cancel bash 4m", "cancel py␛[31mthon 2s"]
    assert found[3].action.tool_call == "a"
    assert "already requested" in found[4].help
    assert endings(known, [process_key()]) == ()


def test_a_sample_that_has_ended_can_not_be_ended_again() -> None:
    for status, word in (("completed", "done"), ("error", "error"), ("cancelled", "cancelled")):
        row = samples_seen(sample(1, status=status))
        known = fleet_after(named(), link(), process_seen(), tasks_seen(task_row()), row)
        key = SampleKey(task_key(), 1, 1)
        found = endings(known, [key])
        assert {each.why_not for each in found} == {f"the sample has ended ({word})"}
        verbs = {each.action.verb for each in buttons(known, [key])}
        assert not {Verb.CANCEL, Verb.SCORE} & verbs
        requeue = next(e for e in entries(known, [key]) if e.action.verb is Verb.REQUEUE)
        assert requeue.why_not is None


def test_buttons_fit_the_state() -> None:
    words = [each.word for each in buttons(fleet(), [task_key()])]
    assert "pause" in words
    assert "requeue errored" in words
    assert "resume" not in words
    words = [each.word for each in buttons(fleet(), [task_key("t2", H1, 101)])]
    assert "resume" in words
    assert "pause" not in words
    assert "requeue errored" not in words
    words = [each.word for each in buttons(fleet(), [process_key()])]
    assert "keep" in words
    assert "release" not in words
    assert "kill leftover process" not in words


def test_every_offer_has_a_letter_that_no_key_of_the_menu_takes() -> None:
    assert not {each.letter for each in OFFERS} & {"A", "q"}


def test_a_finished_task_has_no_button_that_scores_samples_in_flight() -> None:
    done = fleet_after(
        named(), link(), process_seen(), tasks_seen(task_row(status="completed", keep_alive=True))
    )
    for known, words in (
        (done, {"score finished"}),
        (fleet(), {"score now", "score finished"}),
    ):
        shown_words = {each.word for each in buttons(known, [task_key()])}
        assert shown_words & {"score now", "score finished"} == words


def test_a_process_that_starts_is_not_a_leftover() -> None:
    known = fleet_after(named(), link(), process_seen(state=ProcessState.STARTING))
    words = [each.word for each in buttons(known, [process_key()])]
    assert "kill leftover process" not in words
