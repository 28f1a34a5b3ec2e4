"""The command line as a whole: the global options, and the table of commands.

A command's arguments are added, and its module is imported, only when the command is used.
"""

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from cli.output import writing_output
from cli.parser.command import GlobalOptions, ParsedCommand
from core.errors import UsageWrong

_ABOUT = "The control room for Inspect AI evaluations on machines reached over SSH."
_AFTER = """\
Without a command, evalroom opens the room, its full-screen view.
`evalroom COMMAND --help` explains a command.

exit status:
  0  success
  1  an error, or a run or an order that failed
  2  wrong usage
  3  no machine could be reached
  4  an action was refused or not confirmed
  5  an alarm ended `evalroom watch --until alarm`
"""

COMMANDS = (
    ("status", "observation", "print every machine, process and task once"),
    ("samples", "observation", "list the samples of a task"),
    ("sample", "observation", "show one sample of a task"),
    ("watch", "observation", "print events as they happen, one per line, until interrupted"),
    ("triage", "observation", "report how far every eval is, what went wrong, and what to do next"),
    ("why", "observation", "explain what a sample or a process does, and whether it is stuck"),
    ("machines", "machines", "show all machines, or check or prepare one"),
    ("doctor", "machines", "check what an administrator has to set up once, and print how"),
    ("findings", "findings", "list findings, acknowledge or mute them"),
    ("notify", "notify", "send a test message to the addresses of the config"),
    ("journal", "journal", "show past orders (reads the local journal only)"),
    ("act", "act", "preview an action on targets, confirm it, send it"),
    ("config-set", "act", "change knobs (limits, retries, log buffer) of running evals"),
    ("undo", "act", "undo your last action that can be undone"),
    (
        "guide",
        "guide",
        "follow a checklist: interrupt safely, provider incident, finish early, clean up",
    ),
    ("launch", "launch", "start the runs of a spec after showing the plan"),
    ("runs", "runs", "list the runs that evalroom launched"),
    ("run", "runs", "show one run in detail"),
    ("output", "runs", "print the last output of a run"),
    ("attach", "runs", "open a run's own display in this terminal"),
    ("sessions", "runs", "list the tmux sessions of runs, or end one"),
    ("templates", "launch", "list the spec templates, or print one"),
    ("secrets", "secrets", "store, list or delete API keys and tokens"),
    ("replay", "room", "play a recording in the room"),
    ("probe", "config", "print the source of the probe, which runs on each machine"),
    ("config", "config", "check the config, print all its values, or print its path"),
    ("demo", "room", "run a small real eval-set here and open the room on it"),
)
"""Each command: its name, the module of `cli.parser` that adds its arguments, its help."""

_GLOBAL = {"--config": "--config FILE", "--record": "--record FILE", "--read-only": "--read-only"}
"""Options that come before the command, each with its usage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionCommand(ParsedCommand):
    """`evalroom --version`."""

    run_by: ClassVar[str] = "cli.version:print_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A parsed command line."""

    command: ParsedCommand
    options: GlobalOptions


class CommandParser(argparse.ArgumentParser):
    """An argument parser that raises `UsageWrong`, and adds its arguments at its first use.

    Args:
        add: The function that adds the arguments, as `module:function`; empty: none to add.
        settings: Passed on to `argparse.ArgumentParser`.
    """

    def __init__(self, *, add: str = "", **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)
        self._add = add

    def parse_known_args(self, *args: Any, **settings: Any) -> Any:
        """See `argparse.ArgumentParser.parse_known_args`."""
        add, self._add = self._add, ""
        if add:
            module, _, function = add.partition(":")
            add_arguments: Callable[[argparse.ArgumentParser], None]
            add_arguments = getattr(importlib.import_module(module), function)
            add_arguments(self)
        found, unknown = super().parse_known_args(*args, **settings)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def print_help(self, file: Any = None) -> None:
        """Print the help.

        Raises:
            OutputFailed: It can't be written.
        """
        with writing_output():
            print(self.format_help(), end="", file=file or sys.stdout, flush=True)

    def error(self, message: str) -> NoReturn:
        """Raise `UsageWrong` with argparse's own message."""
        late = [word for word in _GLOBAL if f" {word}" in message.partition("arguments:")[2]]
        if late:
            example = f"evalroom {_GLOBAL[late[0]]} COMMAND ..."
            raise UsageWrong(f"{late[0]} must come before the command", f"use: {example}")
        command = self.prog.removeprefix("evalroom").strip()
        text = f"{command}: {message}" if command else message
        raise UsageWrong(text, f"see: {self.prog} --help")


def wants_json(argv: Sequence[str]) -> bool:
    """Whether an error in these arguments is printed as JSON."""
    return "--json" in argv


def parse(argv: Sequence[str]) -> CommandLine:
    """Parse a command line; `argv` does not include the program's name.

    Raises:
        UsageWrong: The arguments are wrong.
        SystemExit: `--help` was given and printed.
    """
    given = _parser().parse_args(list(argv))
    options = GlobalOptions(
        config=given.config,
        read_only=given.read_only,
        record=given.record,
        leaving=given.leaving,
        own_run=given.own_run,
    )
    make: Callable[[argparse.Namespace], ParsedCommand] = given.make
    command = VersionCommand() if given.version else make(given)
    return CommandLine(command=command, options=options)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="evalroom", description=_ABOUT, epilog=_AFTER, allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument("--config", type=Path, metavar="FILE", help="use this config file")
    parser.add_argument("--read-only", action="store_true", help="change nothing on any machine")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="record all events in FILE, for `evalroom replay`",
    )
    for name in ("--leaving", "--own-run"):  # of the room in a demo
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.set_defaults(make=_room)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", parser_class=CommandParser, title="commands"
    )
    for name, module, says in COMMANDS:
        add = f"cli.parser.{module}:add_{name.replace('-', '_')}"
        commands.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.", add=add)
    return parser


def _room(given: argparse.Namespace) -> ParsedCommand:
    del given
    from cli.parser.room import RoomCommand  # noqa: PLC0415 - imported only when used

    return RoomCommand()
