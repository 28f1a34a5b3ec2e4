"""The arguments of `findings`."""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from cli.parser.command import ParsedCommand, command_of
from cli.parser.options import add_json


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
        everything: Whether to acknowledge all findings that stay open.
    """

    run_by: ClassVar[str] = "cli.commands.findings:acknowledge"
    ids: tuple[str, ...] = ()
    everything: bool = False


def add_findings(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `findings`."""
    add_json(parser)
    parser.add_argument("--closed", action="store_true", help="list closed findings too")
    parser.set_defaults(make=partial(command_of, FindingsCommand))
    parser.usage = "evalroom findings [-h] [--json] [--closed]\n       evalroom findings ack ID ..."
    what = parser.add_subparsers(metavar="ack ID ...", title="or", prog="evalroom findings")
    help_text = "acknowledge findings that stay open: errors, losses, failed runs"
    ack = what.add_parser(
        "ack", help=help_text, description=f"{help_text[:1].upper()}{help_text[1:]}."
    )
    add_json(ack)
    ack.add_argument("ids", metavar="ID", nargs="*", help="as `evalroom findings` prints it")
    ack.add_argument(
        "--all",
        dest="everything",
        action="store_true",
        help="acknowledge every finding that stays open",
    )
    ack.set_defaults(make=_acknowledge)


def _acknowledge(given: argparse.Namespace) -> AcknowledgeCommand:
    return command_of(AcknowledgeCommand, given, ids=tuple(given.ids))
