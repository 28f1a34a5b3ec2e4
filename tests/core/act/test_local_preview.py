"""Previews that are worked out, since no dry run exists for them."""

from dataclasses import replace

import pytest

from core.act.local_preview import computed_preview, interrupt_preview
from core.act.preview import Preview
from core.act.snapshot import TargetSnapshot
from core.errors import Unsupported
from core.ids import MachineName
from core.model.action import OFFERS, Action, Verb
from core.model.task import TaskRow
from tests.support.fleets import (
    fleet_after,
    link,
    named,
    process_key,
    process_seen,
    task_row,
    tasks_seen,
)

RED = MachineName("red")


def running(name: str, in_flight: int, queued: int) -> TaskRow:
    """A task with that many samples in flight and queued."""
    row = task_row(name)
    return replace(row, samples=replace(row.samples, in_flight=in_flight, queued=queued))


@pytest.mark.parametrize(
    ("rows", "output"),
    [
        ((running("T", 0, 20),),
         "No sample is in flight, 20 queued samples never run, 1 log ends as cancelled; then"),
        ((running("T", 1, 0),),
         ("1 sample in flight is cut off and written as cancelled, 0 queued samples never run,"
         " 1 log ends")),
        ((running("T", 2, 1), running("U", 3, 0)),
         ("5 samples in flight are cut off and written as cancelled, 1 queued sample never runs,"
         " 2 logs end as cancelled")),
    ],
)  # fmt: skip
def test_an_interrupt_says_what_finalising_means(rows: tuple[TaskRow, ...], output: str) -> None:
    fleet = fleet_after(
        named(RED),
        link(machine=RED),
        process_seen(machine=RED, pid=7),
        tasks_seen(*rows, machine=RED, pid=7),
    )
    preview = interrupt_preview(
        TargetSnapshot(rows=rows), fleet.processes[process_key(RED, 7)], is_ours=True
    )
    assert isinstance(preview, Preview)
    assert output in preview.sentence


_COMPUTED = (Verb.FLUSH, Verb.KEEP, Verb.RELEASE)


@pytest.mark.parametrize("verb", Verb)
def test_only_verbs_without_a_preview_of_their_own_are_computed(verb: Verb) -> None:
    snapshot = TargetSnapshot(answers=True, rows=(running("T", 1, 0),))
    if verb not in _COMPUTED:
        with pytest.raises(Unsupported, match="preview of its own"):
            computed_preview(Action(verb=verb), process_key(), snapshot)
        return
    sentence = computed_preview(Action(verb=verb), process_key(), snapshot).sentence
    assert ("memory" in sentence) is (verb is Verb.FLUSH)


def test_each_action_without_a_dry_run_has_its_preview() -> None:
    own = {Verb.INTERRUPT, Verb.KILL, Verb.RECOVER}
    undried = {offer.action.verb for offer in OFFERS if not offer.dry_run}
    assert undried - own == set(_COMPUTED)
