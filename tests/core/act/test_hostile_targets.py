"""Every name of a target that is printed can be typed back, whatever its task and sample hold."""

import re
import shlex
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.act.sample_targets import Listings
from core.act.target_expansion import ActionPlace
from core.act.target_grammar import TargetSpec, place_name, places_of
from core.act.target_labels import target_label
from core.errors import TargetUnclear
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey, process_of
from core.model.action import Action, Verb
from core.target_escapes import escaped, unescaped
from core.task_targets import find_task, task_name
from core.text import shown
from tests.support.fleets import (
    H1,
    H2,
    fleet_after,
    named,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

pytestmark = pytest.mark.pure

CANCEL = Action(verb=Verb.CANCEL, manner="cancel")
REQUEUE = Action(verb=Verb.REQUEUE)
"""It applies to samples, tasks, processes and machines: every reading counts."""


def fleet_with(
    *ids: str | int, task: str = "one", epochs: int = 1, task_id: str = "t1"
) -> tuple[Fleet, TaskKey]:
    """A task on the first machine with these samples, all listed."""
    key = task_key(task_id)
    row = task_row(task_id, task=task, epochs=epochs)
    rows = [sample(each, epoch) for each in ids for epoch in range(1, epochs + 1)]
    return fleet_after(
        named(), named(H2), process_seen(), tasks_seen(row), samples_seen(*rows, task=key)
    ), key


def place_of(word: str, fleet: Fleet, action: Action = CANCEL) -> ActionPlace:
    """The one place that a word means."""
    [place] = places_of(TargetSpec(targets=[word]), action, fleet)
    return place


def names_in(error: TargetUnclear) -> list[str]:
    """The full names that a message lists."""
    return re.findall(r"@[^\s,]+", error.message)


def test_an_id_that_is_listed_exactly_wins_over_an_epoch() -> None:
    fleet, task = fleet_with("HumanEval/1", "HumanEval/2", task="he")
    assert place_of("he#HumanEval/1", fleet) == SampleKey(task, "HumanEval/1", 1)


def test_a_word_with_two_readings_is_refused_with_names_that_have_one() -> None:
    fleet, task = fleet_with("q", "q/1")
    for word in ("one#q/1", "h100-1:t1#q/1"):
        with pytest.raises(TargetUnclear) as raised:
            place_of(word, fleet)
        both = [place_of(name, fleet) for name in names_in(raised.value)]
        assert set(both) == {SampleKey(task, "q", 1), SampleKey(task, "q/1", 1)}


def test_an_epoch_is_asked_for_by_naming_each() -> None:
    fleet, task = fleet_with("a", epochs=2)
    with pytest.raises(TargetUnclear) as raised:
        place_of("one#a", fleet)
    both = [place_of(name, fleet) for name in names_in(raised.value)]
    assert both == [SampleKey(task, "a", 1), SampleKey(task, "a", 2)]


def test_a_number_and_the_same_text_are_never_confused() -> None:
    fleet, task = fleet_with(1, "1", 2)
    with pytest.raises(TargetUnclear, match="has 2 readings"):
        place_of("one#1", fleet)
    for each in (1, "1"):  # an eval can't tell them apart either
        name = place_name(SampleKey(task, each, 1), fleet)
        with pytest.raises(TargetUnclear, match="as a number and as text"):
            place_of(name, fleet)
    assert place_of("one#2", fleet) == SampleKey(task, 2, 1)


def test_where_not_all_samples_are_listed_a_sample_must_be_named_without_doubt() -> None:
    fleet, task = fleet_with(epochs=2)
    with pytest.raises(TargetUnclear, match="#a/b/2"):
        place_of("one#a/b/2", fleet)
    assert place_of("@h100-1:100:t1#a/b/2", fleet) == SampleKey(task, "a/b", 2)
    listings: Listings = {task: frozenset({("a/b", 1), ("a/b", 2)})}
    aim = TargetSpec(targets=["one#a/b/2"])
    assert places_of(aim, CANCEL, fleet, listings) == (SampleKey(task, "a/b", 2),)
    with pytest.raises(TargetUnclear, match="matches no sample of h100-1:t1"):
        places_of(TargetSpec(targets=["one#c"]), CANCEL, fleet, listings)


@pytest.mark.parametrize("word", ["good:gpqa", "h100:gpqa", ":gpqa", "@good:100:gpqa"])
def test_a_word_before_the_colon_is_a_configured_machine_or_the_target_is_refused(
    word: str,
) -> None:
    """A task of another machine can bear the whole word as its id and as its name."""
    fleet, _ = fleet_with(task=word, task_id=word)
    with pytest.raises(TargetUnclear):
        find_task(fleet, word)
    with pytest.raises(TargetUnclear):
        place_of(word, fleet, REQUEUE)


def test_a_bare_name_that_fits_on_two_machines_is_refused_by_whatever_rule_it_fits() -> None:
    fleet = fleet_after(
        named(), named(H2), process_seen(), process_seen(H2),
        tasks_seen(task_row("QRx", task="gpqa_diamond")),
        tasks_seen(task_row("gpqa", task="other"), machine=H2),
    )  # fmt: skip
    with pytest.raises(TargetUnclear, match=r"h100-1:QRx \(gpqa_diamond\), h100-2:gpqa \(other\)"):
        find_task(fleet, "gpqa")
    assert find_task(fleet, "h100-1:gpqa") == task_key("QRx")


def test_a_task_that_bears_the_id_of_another_is_distinguished() -> None:
    fleet = fleet_after(
        named(), process_seen(), process_seen(pid=7),
        tasks_seen(task_row("gpqa", task="evil"), task_row("T2", task="gpqa")),
        tasks_seen(task_row("7", task="evil"), pid=7),
    )  # fmt: skip
    with pytest.raises(TargetUnclear, match=r"@h100-1:100:gpqa \(evil\), h100-1:T2 \(gpqa\)"):
        find_task(fleet, "h100-1:gpqa")
    with pytest.raises(TargetUnclear) as raised:
        place_of("h100-1:7", fleet, REQUEUE)
    named_places = [place_of(name, fleet, REQUEUE) for name in names_in(raised.value)]
    assert named_places == [process_key(pid=7), task_key("7", pid=7)]


def test_on_a_machine_a_word_never_means_another() -> None:
    fleet = fleet_after(
        named(), named(H2), process_seen(), process_seen(H2),
        tasks_seen(task_row("T1", task="gpqa")),
        tasks_seen(task_row("T1", task="gpqa"), machine=H2),
    )  # fmt: skip
    aim = TargetSpec(targets=["gpqa"], on="h100-2")
    assert places_of(aim, CANCEL, fleet) == (task_key("T1", H2),)
    with pytest.raises(TargetUnclear, match="is not on h100-2"):
        places_of(TargetSpec(targets=["h100-1:gpqa"], on="h100-2"), CANCEL, fleet)


# Whatever the names hold

_PARTS = st.sampled_from(
    ["q", "1", "2", "/", "#", ":", "@", "[", "]", "*", "?", " ", "%", "%31", "t1", "one", "100",
     "h100-1", "h100-2", "\x1b", "\u202e", "ä", "日", "\ud800", "'", "$(x)", "\n", "-", "\u115f"]
)  # fmt: skip
TEXTS = st.lists(_PARTS, min_size=1, max_size=5).map("".join)
IDS = st.one_of(TEXTS, st.integers(-3, 12))


@given(name=st.text(max_size=20) | TEXTS)
def test_an_escaped_name_is_one_harmless_word_of_a_shell_that_can_be_resolved(name: str) -> None:
    word = escaped(name)
    assert unescaped(word) == name
    assert shown(word, len(word)) == word
    assert not name or shlex.split(f"x{word}", comments=True) == [f"x{word}"]
    assert "#" not in word


@given(
    ids=st.lists(IDS, min_size=1, max_size=6, unique_by=repr),
    task=TEXTS, task_id=TEXTS, other_id=TEXTS, epochs=st.integers(1, 3),
)  # fmt: skip
def test_a_printed_name_of_any_sample_task_or_process_is_read_as_the_same(
    ids: list[str | int], task: str, task_id: str, other_id: str, epochs: int
) -> None:
    fleet, key = fleet_with(*ids, task=task, task_id=task_id, epochs=epochs)
    fleet = fleet_after(
        process_seen(pid=1), tasks_seen(task_row(other_id, task="one"), pid=1), fleet=fleet
    )
    for each in fleet.tasks:
        assert find_task(fleet, task_name(fleet, each)) == each
        assert place_of(place_name(each, fleet), fleet, REQUEUE) == each
    for process in fleet.processes:
        assert place_of(place_name(process, fleet), fleet, REQUEUE) == process
    for its in samples_of(fleet, key):
        name = place_name(its, fleet)
        if any(str(each) == str(its.sample_id) for each in ids if each != its.sample_id):
            with pytest.raises(TargetUnclear, match="as a number and as text"):
                place_of(name, fleet, REQUEUE)
        else:
            assert place_of(name, fleet, REQUEUE) == its
            assert target_label(its, fleet).isprintable()


def samples_of(fleet: Fleet, task: TaskKey) -> Iterable[SampleKey]:
    """The listed samples of a task."""
    return [SampleKey(task, *each) for each in fleet.tasks[task].samples]


@given(
    word=TEXTS, ids=st.lists(IDS, max_size=4, unique_by=repr),
    names=st.tuples(TEXTS, TEXTS, TEXTS, TEXTS),
    machine=st.sampled_from(["h100-1", "h100-2", "@h100-2"]),
)  # fmt: skip
def test_a_target_never_leaves_its_machine(
    word: str, ids: list[str | int], names: tuple[str, str, str, str], machine: str
) -> None:
    """An eval of the first machine can bear any name, that of a machine too."""
    task, task_id, other, model = names
    fleet, _ = fleet_with(*ids, task=task, task_id=task_id)
    fleet = fleet_after(
        process_seen(pid=1), process_seen(H2),
        tasks_seen(task_row(word, task=f"{machine}:{word}", model=model), pid=1),
        tasks_seen(task_row(other, task=word), machine=H2),
        fleet=fleet,
    )  # fmt: skip
    typed = f"{machine}:{word}"
    try:
        place = place_of(typed, fleet, REQUEUE)
    except TargetUnclear:
        return
    assert machine_of(place) == machine.removeprefix("@")


def machine_of(place: ActionPlace) -> MachineName:
    """The machine of a place."""
    match place:
        case ProcessKey():
            return place.machine
        case str():
            return place
        case _:
            return process_of(place).machine


def test_machines_of_the_builders_are_the_ones_of_the_words() -> None:
    assert (H1, H2) == ("h100-1", "h100-2")
