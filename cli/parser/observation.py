"""The arguments of `status`, `watch`, `samples` and `sample`, which only read."""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from cli.parser.command import ParsedCommand, command_of
from cli.parser.options import add_json, add_timeout, from_one, seconds
from core.model.sample import DONE_WORD, SampleStatus, word_of_status

STATUSES = ("queued", "running", DONE_WORD, "error", "cancelled")
"""The sample states that `samples --status` accepts, besides those of Inspect."""

_PARTS = {
    "events": "print its events",
    "messages": "print its messages",
    "store": "print its store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCommand(ParsedCommand):
    """`evalroom status`.

    Attributes:
        timeout: Seconds to wait for machines; the same in every command.
    """

    run_by: ClassVar[str] = "cli.commands.status:status"
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchCommand(ParsedCommand):
    """`evalroom watch`.

    Attributes:
        seconds: When to end; None: only when interrupted.
        findings: Whether to print what happens to findings, instead of events.
        until: When else to end: `done`, once every eval has ended; `alarm`, with the first alarm
            too; None: neither.
    """

    run_by: ClassVar[str] = "cli.commands.watch:watch"
    seconds: float | None
    findings: bool = False
    until: Literal["done", "alarm"] | None = None
    timeout: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesCommand(ParsedCommand):
    """`evalroom samples TASK`.

    Attributes:
        status: The sample states to list, joined with commas; None: all.
        all_rows: Whether to list all samples; if not, a long list is truncated.
    """

    run_by: ClassVar[str] = "cli.commands.samples:samples"
    task: str
    status: str | None
    all_rows: bool
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCommand(ParsedCommand):
    """`evalroom sample TASK ID [EPOCH]`.

    Attributes:
        epoch: Counted from 1; None: the task has only one.
        part: `show`, `events`, `messages` or `store`.
        content: Whether to include text that the evaluated model wrote.
    """

    run_by: ClassVar[str] = "cli.commands.samples:sample"
    task: str
    sample_id: str
    epoch: int | None
    part: str
    content: bool
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageCommand(ParsedCommand):
    """`evalroom triage [TARGET]`.

    Attributes:
        target: A machine, process, task or sample; None: everything.
    """

    run_by: ClassVar[str] = "cli.commands.triage:triage"
    target: str | None
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyCommand(ParsedCommand):
    """`evalroom why TARGET`.

    Attributes:
        target: A sample or a process.
    """

    run_by: ClassVar[str] = "cli.commands.triage:why"
    target: str
    timeout: float


def add_status(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `status`."""
    add_json(parser)
    add_timeout(parser)
    parser.set_defaults(make=partial(command_of, StatusCommand))


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `watch`."""
    add_json(parser)
    parser.add_argument(
        "--for", dest="seconds", type=seconds, metavar="SECONDS", help="end after this long"
    )
    parser.add_argument(
        "--findings",
        action="store_true",
        help="print a line for each finding that opens, worsens or closes, instead of events",
    )
    parser.add_argument(
        "--until",
        choices=("done", "alarm"),
        help="with --findings: end with status 0 once every eval has ended; for `alarm`, also with"
        " status 5 on the first alarm that is neither acknowledged nor muted",
    )
    add_timeout(parser)
    parser.set_defaults(make=partial(command_of, WatchCommand))


def add_triage(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `triage`."""
    add_json(parser)
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="machine:, machine:PID, a task, or TASK#ID/EPOCH; without it, everything",
    )
    add_timeout(parser)
    parser.set_defaults(make=partial(command_of, TriageCommand))


def add_why(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `why`."""
    add_json(parser)
    parser.add_argument(
        "target", metavar="TARGET", help="a sample (TASK#ID/EPOCH) or a process (machine:PID)"
    )
    add_timeout(parser)
    parser.set_defaults(make=partial(command_of, WhyCommand))


def add_samples(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `samples`."""
    add_json(parser)
    parser.add_argument("task", metavar="TASK", help="machine:task-id, or any unique part of it")
    parser.add_argument(
        "--status",
        type=_statuses,
        metavar="S",
        help=f"only samples in these states, joined with commas: {', '.join(STATUSES)}"
        " (--json prints Inspect's own words: completed for done, pending or queued for queued)",
    )
    parser.add_argument(
        "--all",
        dest="all_rows",
        action="store_true",
        help="list all samples; without it, a long list is truncated",
    )
    add_timeout(parser)
    parser.set_defaults(make=partial(command_of, SamplesCommand))


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sample`."""
    add_json(parser)
    parser.add_argument("task", metavar="TASK", help="machine:task-id, or any unique part of it")
    parser.add_argument(
        "sample_id", metavar="ID", help="the sample's ID, as it is or as evalroom prints it"
    )
    parser.add_argument(
        "epoch",
        metavar="EPOCH",
        type=from_one,
        nargs="?",
        help="from 1; required if the task has several epochs",
    )
    part = parser.add_mutually_exclusive_group()
    for name, says in _PARTS.items():
        part.add_argument(f"--{name}", dest="part", action="store_const", const=name, help=says)
    parser.add_argument(
        "--content",
        action="store_true",
        help="include text written by the evaluated model (untrusted)",
    )
    add_timeout(parser)
    parser.set_defaults(part="show", make=partial(command_of, SampleCommand))


def _statuses(text: str) -> str:
    """Return the states in Inspect's words, joined with commas."""
    words = text.split(",")
    wrong = next((each for each in words if each not in {*STATUSES, *SampleStatus}), None)
    if wrong is not None:
        raise argparse.ArgumentTypeError(f"{wrong!r} is not one of {', '.join(STATUSES)}")
    return ",".join(each for each in SampleStatus if each in words or word_of_status(each) in words)
