"""The arguments of `notify`."""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from cli.parser.command import ParsedCommand, command_of
from cli.parser.options import add_json

_EPILOG = """\
evalroom notify test    send a test message to the address of every [[notify]] table

An address is a secret: evalroom secrets set NAME. Apprise knows more than a hundred
services; each address begins with the name of one, such as slack:// or mailto://.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyCommand(ParsedCommand):
    """`evalroom notify test`."""

    run_by: ClassVar[str] = "cli.commands.notify:notify"


def add_notify(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `notify`."""
    parser.epilog = _EPILOG
    add_json(parser)
    parser.add_argument("what", metavar="WHAT", choices=("test",), help="test")
    parser.set_defaults(make=partial(command_of, NotifyCommand))
