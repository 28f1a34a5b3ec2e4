"""The arguments of the commands that open the room: no command, `replay` and `demo`."""

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from cli.parser.command import ParsedCommand, command_of
from cli.parser.options import factor, seconds

_DEMO_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomCommand(ParsedCommand):
    """`evalroom`."""

    run_by: ClassVar[str] = "cli.commands.room:room"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCommand(ParsedCommand):
    """`evalroom replay FILE`.

    Attributes:
        speed: The speed, as a multiple of the recorded one.
    """

    run_by: ClassVar[str] = "cli.commands.replay:replay"
    file: Path
    speed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCommand(ParsedCommand):
    """`evalroom demo`.

    Attributes:
        seconds: About how long the eval-set takes.
        headless: Whether to run without the room, even in a terminal.
    """

    run_by: ClassVar[str] = "cli.commands.demo:demo"
    seconds: float
    headless: bool


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `replay`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a recording that --record wrote")
    parser.add_argument(
        "--speed",
        type=factor,
        default=1.0,
        metavar="N",
        help="play N times as fast (default 1)",
    )
    parser.set_defaults(make=partial(command_of, ReplayCommand))


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `demo`."""
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=_DEMO_S,
        metavar="N",
        help=f"make the eval-set take about N seconds (default {_DEMO_S:.0f})",
    )
    parser.add_argument(
        "--headless", action="store_true", help="print events and a report, without the room"
    )
    parser.set_defaults(make=partial(command_of, DemoCommand))
