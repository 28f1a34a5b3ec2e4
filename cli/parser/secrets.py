"""The words of `evalroom secrets`."""

import argparse
from collections.abc import Callable


def add_secrets(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command.

    Args:
        command: Adds one, by its name and what it does.
    """
    secrets = command("secrets", "keys and tokens by name: set NAME, list, delete NAME")
    secrets.epilog = (
        "set asks for the value, or reads it from standard input: `pass show key | evalroom"
        " secrets set OPENAI_API_KEY`. It is kept in the keyring of this computer, or in a file"
        " for you alone where there is none, and never shown again. A spec names what its run"
        " gets."
    )
    # All of these are told apart later: what is wrong may be a value, and is not repeated.
    secrets.add_argument("what", metavar="WHAT", help="set, list or delete")
    secrets.add_argument("names", metavar="NAME", nargs="*")
    secrets.add_argument("--value", dest="argument", help=argparse.SUPPRESS)
    secrets.add_argument("--yes", action="store_true", help="delete without asking")
