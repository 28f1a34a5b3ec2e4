"""The arguments of `findings`."""

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from cli.parser.command import ParsedCommand, command_of
from cli.parser.options import add_json
from core.errors import UsageWrong
from core.model.mute import MAX_MUTE_S

_UNIT_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_USUAL_MUTE_S = 7_200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsCommand(ParsedCommand):
    """`evalroom findings`.

    Attributes:
        closed: Whether to list closed findings too.
    """

    run_by: ClassVar[str] = "cli.commands.findings:findings"
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgeCommand(ParsedCommand):
    """`evalroom findings ack`.

    Attributes:
        ids: The findings, as the list prints them, or the beginnings of their ids.
        everything: Whether to acknowledge all open findings.
    """

    run_by: ClassVar[str] = "cli.commands.findings:acknowledge"
    ids: tuple[str, ...] = ()
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteCommand(ParsedCommand):
    """`evalroom findings mute`.

    Attributes:
        ids: The findings, as the list prints them, or the beginnings of their ids.
        lasts: For how long, seconds.
        of_kind: Whether to mute all findings of the kind of each.
        of_task: Whether to mute all findings of the task of each; with `of_kind`, of both.
        ends: Whether to end the mutes of each instead.
    """

    run_by: ClassVar[str] = "cli.commands.findings:mute"
    ids: tuple[str, ...] = ()
    lasts: float = _USUAL_MUTE_S
    of_kind: bool = False
    of_task: bool = False
    ends: bool = False


def add_findings(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `findings`."""
    add_json(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--open", action="store_true", help="list open findings only (the default)")
    which.add_argument(
        "--all",
        "--closed",
        dest="closed",
        action="store_true",
        help="list the closed findings of the last 7 days too",
    )
    parser.set_defaults(make=partial(command_of, FindingsCommand))
    parser.usage = (
        "evalroom findings [-h] [--json] [--open | --all]\n"
        "       evalroom findings ack ID ...\n"
        "       evalroom findings mute ID ... [--for 2h] [--kind] [--task] [--end]"
    )
    what = parser.add_subparsers(metavar="ack|mute ID ...", title="or", prog="evalroom findings")
    _add_acknowledge(what.add_parser)
    _add_mute(what.add_parser)


def _add_acknowledge(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    help_text = "acknowledge findings: those about errors and losses close"
    ack = add_parser(
        "ack",
        help=help_text,
        description=f"{help_text[:1].upper()}{help_text[1:]}. Others stay open, but no longer"
        " count until they worsen.",
    )
    add_json(ack)
    ack.add_argument("ids", metavar="ID", nargs="*", help="as `evalroom findings` prints it")
    ack.add_argument(
        "--all", dest="everything", action="store_true", help="acknowledge every open finding"
    )
    ack.set_defaults(make=_acknowledge)


def _add_mute(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    help_text = "mute findings for a time, or end their mutes"
    mute = add_parser(
        "mute",
        help=help_text,
        description=f"{help_text[:1].upper()}{help_text[1:]}. A muted finding does not count, rings"
        " no bell and prints no line.",
    )
    add_json(mute)
    mute.add_argument("ids", metavar="ID", nargs="+", help="as `evalroom findings` prints it")
    mute.add_argument(
        "--for",
        dest="lasts",
        type=_time,
        metavar="TIME",
        help="how long: 90s, 30m, 2h (the default), 3d or 1w; 30 days at most",
    )
    mute.add_argument(
        "--kind",
        dest="of_kind",
        action="store_true",
        help="mute all findings of its kind, also those that open later",
    )
    mute.add_argument(
        "--task",
        dest="of_task",
        action="store_true",
        help="mute all findings of its task, also those that open later; with --kind, those of"
        " its kind in its task",
    )
    mute.add_argument("--end", dest="ends", action="store_true", help="end its mutes instead")
    mute.set_defaults(make=_mute)


def _acknowledge(given: argparse.Namespace) -> AcknowledgeCommand:
    return command_of(AcknowledgeCommand, given, ids=tuple(given.ids))


def _mute(given: argparse.Namespace) -> MuteCommand:
    if given.ends and given.lasts is not None:
        raise UsageWrong(
            "--end takes no time: it ends a mute now",
            "leave --for out, or leave --end out to mute for that time",
        )
    given.lasts = _USUAL_MUTE_S if given.lasts is None else given.lasts
    return command_of(MuteCommand, given, ids=tuple(given.ids))


def _time(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,7})([smhdw])", text, re.ASCII)
    lasts = int(found[1]) * _UNIT_S[found[2]] if found else 0
    if not 0 < lasts <= MAX_MUTE_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; use 90s, 30m, 2h, 3d or 1w, up to 30d"
        )
    return float(lasts)
