"""The arguments of `journal`."""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from cli.parser.command import ParsedCommand, command_of
from cli.parser.moments import moment
from cli.parser.options import add_json, from_one

_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalCommand(ParsedCommand):
    """`evalroom journal` and its filters; None or empty: no filter.

    Attributes:
        since: Unix seconds.
        action: The verb, as typed.
        state: The state, as typed.
        limit: The most orders to show.
        text: A text filter as in the room.
        revealed: Whether to show who revealed text of agents, in place of orders.
    """

    run_by: ClassVar[str] = "cli.commands.journal:journal"
    since: float | None
    machine: str | None
    action: str | None
    state: str | None
    limit: int
    text: str | None
    revealed: bool = False


def add_journal(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `journal`."""
    add_json(parser)
    parser.add_argument(
        "--since",
        type=_moment,
        metavar="WHEN",
        help="only orders since WHEN: 90s, 5m, 2h, 3d or 1w ago, 2026-11-29, 2026-11-29T08:30",
    )
    parser.add_argument("--machine", metavar="M", help="only orders for this machine")
    parser.add_argument(
        "--action", metavar="VERB", help="only this action: pause, cancel, config ..."
    )
    parser.add_argument(
        "--state",
        metavar="S",
        help="only orders in this state: sending, done, no-change, refused, failed or unknown",
    )
    parser.add_argument(
        "--limit",
        type=from_one,
        default=_LIMIT,
        metavar="N",
        help=f"show at most N orders (default {_LIMIT})",
    )
    parser.add_argument(
        "--revealed",
        action="store_true",
        help="show who revealed the text of which sample's agent, and when, instead of orders",
    )
    parser.add_argument(
        "text",
        metavar="TEXT",
        nargs="?",
        help="only orders that match this text or /regex/; !TEXT excludes",
    )
    parser.set_defaults(make=partial(command_of, JournalCommand))


def _moment(text: str) -> float:
    try:
        return moment(text)
    except ValueError as error:
        text = f"{error}; use 90s, 5m, 2h, 3d or 1w for a time ago, or a date such as 2026-11-29"
        raise argparse.ArgumentTypeError(text) from error
