"""The words of the command line. Nothing heavy is imported before they are understood."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from cli.parser.act import add_commands
from cli.parser.guide import add_guide
from cli.parser.launch import add_launch
from cli.parser.secrets import add_secrets
from core.errors import UsageWrong

_ABOUT = "The control room for Inspect AI evaluations on machines reached over SSH."
_AFTER = (
    "No command opens the room. TASK is `machine:task-id-prefix`, or any part that fits one task."
    " Exit status: 0, 1 for an error, 2 for wrong words, 3 when no machine could be reached,"
    " 4 for an action that was refused or not confirmed."
)

_GLOBAL = {"--config": "--config FILE", "--record": "--record FILE", "--read-only": "--read-only"}
"""Options that come before the command, and how they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What was asked for.

    Attributes:
        command: None: the room.
        config: None: the one in the usual place, if it is there.
        record: Where the events are written, None: nowhere.
        leaving: What leaving the room means, where that is not what it always means.
        given: The command's own options by name.
    """

    command: str | None
    config: Path | None = None
    read_only: bool = False
    record: Path | None = None
    leaving: str | None = None
    as_json: bool = False
    given: dict[str, Any] = field(default_factory=dict[str, Any])


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        late = [word for word in _GLOBAL if f" {word}" in message.partition("arguments:")[2]]
        if late:
            example = f"evalroom {_GLOBAL[late[0]]} COMMAND ..."
            raise UsageWrong(f"{late[0]} stands after the command", f"it comes first: {example}")
        command = self.prog.removeprefix("evalroom").strip()
        said = f"{command}: {message}" if command else message
        raise UsageWrong(said, f"see {self.prog} --help")


def wants_json(argv: Sequence[str]) -> bool:
    """Whether an error about these words is to be JSON."""
    return "--json" in argv


def parsed(argv: Sequence[str]) -> Words:
    """Understand the words of a command line, without the program's name.

    Raises:
        UsageWrong: They are off.
        SystemExit: `--help` was answered.
    """
    given = vars(_parser().parse_args(list(argv)))
    return Words(
        command=given.pop("command"),
        config=given.pop("config"),
        read_only=given.pop("read_only"),
        record=given.pop("record"),
        leaving=given.pop("leaving"),
        as_json=given.pop("as_json", False),
        given=given,
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="evalroom", description=_ABOUT, epilog=_AFTER, allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print the version and end")
    parser.add_argument("--config", type=Path, metavar="FILE", help="read this config")
    parser.add_argument(
        "--read-only", action="store_true", help="change nothing on any machine, whatever is asked"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write what happens, for `replay`"
    )
    parser.add_argument("--leaving", help=argparse.SUPPRESS)  # of the room in a demo
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", parser_class=_Parser, title="commands"
    )
    _looks(commands)
    _acts(commands)
    _others(commands)
    return parser


_Commands = Any
"""argparse does not name the type of what `add_subparsers` returns."""


_STATUSES = ("running", "completed", "error", "cancelled", "pending", "queued")


def _looks(commands: _Commands) -> None:
    status = _command(commands, "status", "one look at every machine, process and task")
    _timeout(status)

    samples = _command(commands, "samples", "the samples of a task")
    samples.add_argument("task", metavar="TASK")
    samples.add_argument(
        "--status",
        type=_status,
        metavar="S",
        help="only those that are running, completed, error, cancelled, pending or queued",
    )
    samples.add_argument(
        "--all", dest="all_rows", action="store_true", help="all of them, however many"
    )
    _timeout(samples)

    sample = _command(commands, "sample", "one sample of a task")
    sample.add_argument("task", metavar="TASK")
    sample.add_argument("sample_id", metavar="ID")
    sample.add_argument("epoch", metavar="EPOCH", type=_epoch, nargs="?", help="from 1")
    part = sample.add_mutually_exclusive_group()
    for name in ("events", "messages", "store"):
        part.add_argument(f"--{name}", dest="part", action="store_const", const=name)
    sample.add_argument(
        "--content", action="store_true", help="also what the evaluated agent wrote: it may lie"
    )
    sample.set_defaults(part="show")
    _timeout(sample)

    watch = _command(commands, "watch", "what happens, a line each, until interrupted")
    watch.add_argument(
        "--for", dest="seconds", type=_seconds, metavar="SECONDS", help="end after this long"
    )

    machines = _command(commands, "machines", "each machine's link, tools, clock, and advice")
    machines.epilog = (
        "machines check NAME says whether runs can be launched there; with a SPEC, whether that"
        " one can: exit status 1 where a check says stop, 3 where it can't be reached."
        " machines prepare NAME SPEC fetches there what that one needs, for when there is no"
        " network: uv and packages, data of the task, images, tokenizer; 1 where some failed."
    )
    machines.add_argument("what", metavar="check|prepare", nargs="?", choices=("check", "prepare"))
    machines.add_argument("name", metavar="NAME", nargs="?", help="of the machine to look at")
    machines.add_argument("spec", metavar="SPEC", nargs="?", help="what would be launched there")
    machines.add_argument(
        "--set",
        dest="sets",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="prepare: above the spec's, as in evalroom launch",
    )
    machines.add_argument("--dry-run", action="store_true", help="prepare: only what is fetched")
    machines.add_argument("--yes", action="store_true", help="prepare: without asking")
    _timeout(machines)
    _journal(commands)


def _journal(commands: _Commands) -> None:
    journal = _command(commands, "journal", "the orders that were given; no machine is asked")
    journal.add_argument(
        "--since", type=_moment, metavar="WHEN", help="2h, 3d ... ago, or 2026-11-29[T08:30]"
    )
    journal.add_argument("--machine", metavar="M")
    journal.add_argument("--action", metavar="VERB", help="pause, cancel, config ...")
    journal.add_argument(
        "--state", metavar="S", help="intent, done, noop, refused, failed or unknown"
    )
    journal.add_argument("--limit", type=_limit, default=100, metavar="N", help="at most (100)")
    journal.add_argument("text", metavar="TEXT", nargs="?", help="words, /regex/, ! inverts")


def _acts(commands: _Commands) -> None:
    add_commands(lambda name, says: _command(commands, name, says))
    add_guide(lambda name, says: _command(commands, name, says))
    add_launch(lambda name, says: _command(commands, name, says))
    add_secrets(lambda name, says: _command(commands, name, says))


def _others(commands: _Commands) -> None:
    replay = commands.add_parser("replay", help="play what --record wrote, in the room")
    replay.add_argument("file", type=Path, metavar="FILE")
    replay.add_argument("--speed", type=_speed, default=1.0, metavar="N", help="times as fast")

    commands.add_parser("probe", help="print the program that runs on a machine while linked")

    config = _command(commands, "config", "check it, show what holds, or say where it is")
    config.add_argument("what", choices=("check", "show", "path"))

    demo = commands.add_parser(
        "demo", help="run a small real eval-set here and open the room on it"
    )
    demo.add_argument(
        "--seconds", type=_seconds, default=120.0, metavar="N", help="about how long it takes"
    )
    demo.add_argument(
        "--headless", action="store_true", help="watch it without the room; print a report"
    )


def _command(commands: _Commands, name: str, says: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=says, description=says)
    parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON")
    return parser


def _timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=15.0,
        metavar="SECONDS",
        help="wait this long for machines (15)",
    )


def _seconds(text: str) -> float:
    return _above_zero(text, "seconds, a number above 0")


def _speed(text: str) -> float:
    return _above_zero(text, "a number above 0")


def _above_zero(text: str, allowed: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e9:  # noqa: PLR2004 - thirty years
        raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
    return value


def _moment(text: str) -> float:
    from cli.parser.moments import moment  # noqa: PLC0415

    try:
        return moment(text)
    except ValueError as error:
        said = f"{error}: 90s, 5m, 2h, 3d or 1w ago, or a date such as 2026-11-29"
        raise argparse.ArgumentTypeError(said) from error


def _limit(text: str) -> int:
    return _whole(text, "limit")


def _status(text: str) -> str:
    wrong = next((each for each in text.split(",") if each not in _STATUSES), None)
    if wrong is not None:
        raise argparse.ArgumentTypeError(f"{wrong!r} is none of {', '.join(_STATUSES)}")
    return text


def _epoch(text: str) -> int:
    return _whole(text, "epoch")


def _whole(text: str, what: str) -> int:
    if text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) < 10:  # noqa: PLR2004
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no {what}: a whole number from 1")
