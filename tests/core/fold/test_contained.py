"""Processes in containers, and those that get no signal: from the probe's row to the screen."""

import json
from itertools import permutations
from typing import Any

import pytest

from cli.render.fleet_json import process_row
from core.act.refusals import fleet_refusal
from core.events import Event, ProbeAnswered
from core.fleet import Fleet
from core.ids import MachineName
from core.judge.judge import judge
from core.model.action import OFFERS, Offer, Verb
from core.model.process import ContainerPlace, ProcessState
from core.views.pages.process_page import process_page
from core.views.tables.processes import processes_table
from core.watch.process_list import ProcessReport, process_reports
from tests.support.fleets import (
    H1,
    NOW,
    fleet_after,
    link,
    named,
    probe_answered,
    process_key,
    process_seen,
)

INSIDE = MachineName("sandbox")
PLACE = ContainerPlace(engine="docker", id="0123456789ab", namespace="pid:[7]", pid=3)


def hello(machine: MachineName, namespace: str, boot: str = "b") -> ProbeAnswered:
    return probe_answered(machine, boot_id=boot, namespace=namespace)


def contained() -> Event:
    return process_seen(
        state=ProcessState.CONTAINED, unsignalled="contained", container=PLACE, started_at=NOW
    )


def offer(verb: Verb) -> Offer:
    return next(each for each in OFFERS if each.action.verb is verb)


def words_of(fleet: Fleet) -> str:
    page = process_page(fleet, process_key(), NOW)
    facts = [fact for each in page.sections for fact in each.facts]
    return "\n".join("".join(getattr(span, "text", "") for span in fact.value) for fact in facts)


def test_an_eval_in_a_container_is_listed_with_the_way_to_watch_it() -> None:
    fleet = fleet_after(named(), link(), hello(H1, "pid:[1]"), contained())
    assert "in a container, not watched from here" in words_of(fleet)
    assert processes_table(fleet, NOW).rows[0].key == process_key()
    way = '"docker", "exec", "-i", "0123456789ab"'
    assert way in words_of(fleet)
    row = process_row(fleet, fleet.processes[process_key()], NOW)
    assert (row["can_signal"], row["container"]["id"]) == (False, "0123456789ab")
    assert way in row["signal_reason"]
    for verb in Verb:
        refused = fleet_refusal(offer(verb), process_key(), fleet)
        assert refused is not None
        assert way in refused.sentence


def test_a_machine_in_that_container_has_the_row_alone() -> None:
    """Whichever is known first; another kernel's namespace of that name is another."""
    events = (hello(H1, "pid:[1]"), hello(INSIDE, "pid:[7]"), contained())
    for order in permutations(events):
        fleet = fleet_after(named(), named(INSIDE), link(), link(machine=INSIDE), *order)
        assert not fleet.processes
    fleet = fleet_after(named(), named(INSIDE), events[0], hello(INSIDE, "pid:[7]", "c"), events[2])
    assert process_key() in fleet.processes


def test_a_contained_process_opens_no_finding() -> None:
    before = fleet_after(named(), link())
    after = fleet_after(contained(), fleet=before)
    assert list(judge(before, after, contained())) == []


@pytest.mark.parametrize("verb", [Verb.INTERRUPT, Verb.KILL])
def test_a_script_gets_no_signal_and_everything_else(verb: Verb) -> None:
    fleet = fleet_after(named(), link(), process_seen(unsignalled="script"))
    refused = fleet_refusal(offer(verb), process_key(), fleet)
    assert refused is not None
    assert "is a script or a notebook" in refused.sentence
    assert fleet_refusal(offer(Verb.PAUSE), process_key(), fleet) is None
    assert "is a script or a notebook" in words_of(fleet)
    row = process_row(fleet, fleet.processes[process_key()], NOW)
    assert row["can_signal"] is False
    assert "script" in row["signal_reason"]


def test_an_eval_whose_socket_was_removed_says_so() -> None:
    fleet = fleet_after(named(), link(), process_seen(state=ProcessState.HEADLESS, is_cut_off=True))
    refused = fleet_refusal(offer(Verb.PAUSE), process_key(), fleet)
    assert refused is not None
    assert "was removed" in refused.sentence
    assert "its log will show how it ends" in words_of(fleet)
    assert "Give each host and container its own XDG_DATA_HOME" in words_of(fleet)


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ({"channel": "ok", "container": {"id": "0123456789ab"}}, None),
        ({"channel": "contained", "container": None}, ContainerPlace()),
        (
            {"channel": "contained", "container": {"engine": "sh -c", "id": "$(reboot)"}},
            ContainerPlace(),
        ),
        ({"channel": "contained", "container": {"engine": "docker", "id": "0" * 12, "pid": 4,
          "namespace": "pid:[1]"}},
         ContainerPlace(engine="docker", id="0" * 12, namespace="pid:[1]", pid=4)),
    ],
)  # fmt: skip
def test_a_hostile_description_of_a_container_is_harmless(
    row: dict[str, Any], place: ContainerPlace | None
) -> None:
    body = json.dumps([{"pid": 1, "start": "s", **row}]).encode()
    [found] = process_reports(H1, body, at=NOW).reports
    assert isinstance(found, ProcessReport)
    assert found.event.container == place
