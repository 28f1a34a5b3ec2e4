"""The arguments of `config` and `probe`, which only print."""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from cli.parser.command import ParsedCommand, command_of
from cli.parser.options import add_json


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigCommand(ParsedCommand):
    """`evalroom config check | show | path`.

    Attributes:
        what: `check`, `show` or `path`.
    """

    run_by: ClassVar[str] = "cli.commands.config:config"
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeCommand(ParsedCommand):
    """`evalroom probe`."""

    run_by: ClassVar[str] = "cli.commands.probe:probe"


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `config`."""
    add_json(parser)
    parser.add_argument(
        "what",
        metavar="check|show|path",
        choices=("check", "show", "path"),
        help="check the file, print all values with their defaults, or print the file's path",
    )
    parser.set_defaults(make=partial(command_of, ConfigCommand))


def add_probe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `probe`."""
    parser.set_defaults(make=partial(command_of, ProbeCommand))
