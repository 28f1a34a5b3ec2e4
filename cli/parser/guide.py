"""The arguments of `guide`."""

import argparse
from dataclasses import dataclass
from typing import ClassVar

from cli.parser.command import Consent, ParsedCommand, command_of
from cli.parser.options import add_consent, add_dry_run, add_json, add_timeout
from core.errors import UsageWrong

WHATS = ("interrupt", "incident", "finish", "cleanup", "list", "resume")

_GOES_WITH = {
    "model": "incident",
    "now": "incident",
    "others": "cleanup",
    "skip": "resume",
    "stop": "resume",
}
"""Options of one kind of guide only."""
_EPILOG = """\
guide interrupt TARGET...               pause, wait for samples in flight, flush the log,
                                        interrupt; prints the command that resumes the eval
guide incident --model M [TARGET...]    pause a model everywhere; `guide resume ID` resumes it
guide finish TASK                       drain a task; each `guide resume ID` takes one more step
guide cleanup [TARGET...]               decide about each parked process, and leftover containers
guide list                              print the guides and their steps
guide resume ID                         continue a guide
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideCommand(ParsedCommand):
    """`evalroom guide interrupt | incident | finish | cleanup | resume`.

    Attributes:
        what: The kind of guide, or `resume`.
        targets: The targets as typed; for `resume` the id of a guide.
        model: The exact name of a model, for `incident`.
        now: Whether samples in flight are held too, for `incident`.
        others: Whether processes that someone else launched are included, for `cleanup`.
        skip: Whether to skip the waiting step, for `resume`.
        stop: Whether to end the guide for good, for `resume`.
        timeout: Seconds to wait for machines.
    """

    run_by: ClassVar[str] = "cli.commands.guide:guide"
    what: str
    targets: tuple[str, ...] = ()
    model: str | None = None
    now: bool = False
    others: bool = False
    skip: bool = False
    stop: bool = False
    dry_run: bool = False
    consent: Consent = Consent()
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideListCommand(ParsedCommand):
    """`evalroom guide list`."""

    run_by: ClassVar[str] = "cli.commands.guide:guide_list"


def add_guide(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `guide`."""
    parser.epilog = _EPILOG
    add_json(parser)
    parser.add_argument("what", metavar="WHAT", choices=WHATS, help="the checklist (see below)")
    parser.add_argument(
        "targets",
        metavar="TARGET",
        nargs="*",
        default=[],
        help="a task, a process (machine:PID) or all processes of a machine (machine:)",
    )
    parser.add_argument("--model", metavar="M", help="incident: the model, by its exact name")
    parser.add_argument("--now", action="store_true", help="incident: hold samples in flight too")
    parser.add_argument(
        "--others",
        action="store_true",
        help="cleanup: include processes that someone else launched",
    )
    parser.add_argument("--skip", action="store_true", help="resume: skip the waiting step")
    parser.add_argument("--stop", action="store_true", help="resume: end the guide for good")
    add_timeout(parser)
    add_dry_run(parser, "preview the first step and send nothing")
    add_consent(
        parser,
        yes="confirm every step that needs only a yes",
        confirm="the confirmation text of a step that needs one; repeatable",
    )
    parser.set_defaults(make=_guide)


def _guide(given: argparse.Namespace) -> ParsedCommand:
    """Return the command.

    Raises:
        UsageWrong: An option belongs to another kind of guide.
    """
    for option, what in _GOES_WITH.items():
        if getattr(given, option) and given.what != what:
            raise UsageWrong(f"--{option} goes with: evalroom guide {what}")
    if given.what == "list":
        return command_of(GuideListCommand, given)
    return command_of(GuideCommand, given)
