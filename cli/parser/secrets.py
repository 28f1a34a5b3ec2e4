"""The arguments of `secrets`."""

import argparse
from dataclasses import dataclass
from typing import ClassVar, Literal

from cli.parser.command import Consent, ParsedCommand, command_of
from cli.parser.options import add_consent, add_json
from core.errors import UsageWrong

Deed = Literal["set", "list", "delete"]

_DEEDS = ("set", "list", "delete")
_EPILOG = """\
evalroom secrets set NAME      ask for the value, or read it from standard input
evalroom secrets list          list the names
evalroom secrets delete NAME   delete a secret

A value is stored in this computer's keyring or, without a keyring, in a file that only you
can read. evalroom never prints it. A spec names the secrets that its runs get.

  pass show openai | evalroom secrets set OPENAI_API_KEY
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsCommand(ParsedCommand):
    """`evalroom secrets set | list | delete`.

    Attributes:
        name: The secret; empty for `list`.
    """

    run_by: ClassVar[str] = "cli.commands.secrets:secrets"
    what: Deed
    name: str
    consent: Consent


def add_secrets(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `secrets`."""
    parser.epilog = _EPILOG
    add_json(parser)
    # Checked below, not by argparse, which would repeat a wrong word: it may be a secret.
    parser.add_argument("what", metavar="WHAT", help="set, list or delete")
    parser.add_argument("names", metavar="NAME", nargs="*", default=[], help="the secret's name")
    parser.add_argument("--value", dest="argument", help=argparse.SUPPRESS)
    add_consent(parser, yes="delete without asking", confirm=None)
    parser.set_defaults(make=_secrets)


def _secrets(given: argparse.Namespace) -> SecretsCommand:
    """Return the command.

    Raises:
        UsageWrong: A name is missing or superfluous, or a value was given as an argument.
    """
    what: str = given.what
    names: list[str] = given.names
    if what not in _DEEDS:
        raise UsageWrong("secrets takes set, list or delete", "see: evalroom secrets --help")
    if what == "list" and given.argument is None:
        if names:
            raise UsageWrong("`secrets list` takes no NAME", "use: evalroom secrets list")
        return command_of(SecretsCommand, given, what=what, name="")
    if len(names) > 1 or given.argument is not None:
        raise UsageWrong(
            "a secret's value can't be an argument: others could read it in the process list",
            f"use: evalroom secrets {what} NAME; it asks for the value, or reads standard input",
        )
    if not names:
        raise UsageWrong(f"`secrets {what}` needs a NAME", f"use: evalroom secrets {what} NAME")
    return command_of(SecretsCommand, given, what=what, name=names[0])
