"""A proposal as a command: the one that `evalroom act` reads as the same action and target."""

import shlex
from dataclasses import replace

import pytest

from cli.parser.act import ActCommand
from cli.parser.command_line import parse
from core.act.proposed_commands import proposed_command, proposed_target
from core.act.target_grammar import places_of
from core.ids import SampleKey
from core.model.action import Change
from core.model.finding import Finding, Proposal
from tests.support.fleets import H1, NOW, process_key, running_fleet, task_key

FINDING = Finding(
    id="a", kind="stall", severity="alarm", opened_at=NOW, machine=H1, text="bash hangs",
    task=task_key(), process=process_key(), sample=SampleKey(task_key(), 1, 1),
)  # fmt: skip


@pytest.mark.parametrize(
    "proposal",
    [
        Proposal(action="cancel-call", scope="sample"),
        Proposal(action="drain", scope="task"),
        Proposal(action="interrupt", scope="process"),
        Proposal(action="config", scope="task", changes=(Change(knob="max_samples", value=4),)),
        Proposal(action="config", scope="process", changes=(Change(knob="timeout", value=None),)),
    ],
)
def test_the_command_means_the_action_and_its_target(proposal: Proposal) -> None:
    fleet = running_fleet()
    words = shlex.split(proposed_command(fleet, FINDING, proposal))
    assert words[0] == "evalroom"
    command = parse(words[1:]).command
    assert isinstance(command, ActCommand)
    [place] = places_of(command.targets, command.action, fleet)
    assert place == proposed_target(FINDING, proposal)
    assert command.action.changes == proposal.changes


def test_what_the_finding_does_not_name_has_no_command() -> None:
    proposal = Proposal(action="cancel-call", scope="sample")
    assert proposed_command(running_fleet(), replace(FINDING, sample=None), proposal) == ""
