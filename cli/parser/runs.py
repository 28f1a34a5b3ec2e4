"""The arguments of `runs`, `run`, `output`, `attach` and `sessions`."""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from cli.parser.command import Consent, ParsedCommand, command_of
from cli.parser.options import add_consent, add_json, add_timeout
from core.errors import UsageWrong


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsCommand(ParsedCommand):
    """`evalroom runs`.

    Attributes:
        timeout: Seconds to wait for machines; the same in every command.
    """

    run_by: ClassVar[str] = "cli.commands.runs:runs"
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand(ParsedCommand):
    """`evalroom run ID`.

    Attributes:
        name: The run's id, or any unique part of it; the same in every command.
        content: Whether to print the full errors of a few samples.
    """

    run_by: ClassVar[str] = "cli.commands.runs:run"
    name: str
    content: bool
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCommand(ParsedCommand):
    """`evalroom output ID`.

    Attributes:
        follow: Whether to keep printing until the run has ended.
    """

    run_by: ClassVar[str] = "cli.commands.runs:output"
    name: str
    follow: bool
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachCommand(ParsedCommand):
    """`evalroom attach ID`."""

    run_by: ClassVar[str] = "cli.commands.attach:attach"
    name: str
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsCommand(ParsedCommand):
    """`evalroom sessions`."""

    run_by: ClassVar[str] = "cli.commands.sessions:sessions"
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSessionCommand(ParsedCommand):
    """`evalroom sessions end NAME`."""

    run_by: ClassVar[str] = "cli.commands.sessions:end_session"
    name: str
    consent: Consent
    timeout: float


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `runs`."""
    add_json(parser)
    add_timeout(parser)
    parser.set_defaults(make=partial(command_of, RunsCommand))


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `run`."""
    _add_one(parser)
    parser.add_argument(
        "--content",
        action="store_true",
        help="print the full error of one sample of each cause (untrusted)",
    )
    parser.set_defaults(make=partial(command_of, RunCommand))


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `output`."""
    _add_one(parser)
    parser.add_argument(
        "--follow", action="store_true", help="keep printing until the run has ended"
    )
    parser.set_defaults(make=partial(command_of, OutputCommand))


def add_attach(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `attach`."""
    _add_one(parser)
    parser.set_defaults(make=partial(command_of, AttachCommand))


def add_sessions(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sessions`."""
    add_json(parser)
    parser.add_argument(
        "what",
        metavar="list|end",
        choices=("list", "end"),
        nargs="?",
        default="list",
        help="list the sessions (default), or end one",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the session to end")
    add_consent(
        parser,
        yes="end a session without asking, if its eval has ended",
        confirm="the session's name again: end it although its eval still runs",
        metavar="NAME",
    )
    add_timeout(parser)
    parser.set_defaults(make=_sessions)


def _add_one(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    parser.add_argument("name", metavar="ID", help="the run's ID, or any unique part of it")
    add_timeout(parser)


def _sessions(given: argparse.Namespace) -> ParsedCommand:
    if given.what == "list":
        return command_of(SessionsCommand, given)
    if given.name is None:
        raise UsageWrong(
            "`sessions end` needs the name of a session", "use: evalroom sessions end NAME"
        )
    return command_of(EndSessionCommand, given)
