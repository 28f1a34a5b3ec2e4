"""Options and value types that several commands share."""

import argparse

from core.model.timeouts import REQUEST_TIMEOUT_S

TIMEOUT_S = REQUEST_TIMEOUT_S
"""How long a command waits for machines by default, seconds."""

_LONGEST_S = 1e9
_MOST_DIGITS = 9


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON")


def add_timeout(parser: argparse.ArgumentParser, option: str = "--timeout") -> None:
    """Add `--timeout`, or the same option under another name."""
    parser.add_argument(
        option,
        dest="timeout",
        type=seconds,
        default=TIMEOUT_S,
        metavar="SECONDS",
        help=f"wait at most this long for machines (default {TIMEOUT_S:.0f})",
    )


def add_consent(
    parser: argparse.ArgumentParser, *, yes: str, confirm: str | None, metavar: str = "TEXT"
) -> None:
    """Add `--yes`, and `--confirm` if an action may require a text to be typed.

    Args:
        parser: The command's parser.
        yes: The help of `--yes`.
        confirm: The help of `--confirm`; None: the command does not have it.
        metavar: The placeholder of `--confirm` in the help.
    """
    parser.add_argument("--yes", action="store_true", help=yes)
    if confirm is not None:
        parser.add_argument("--confirm", action="append", default=[], metavar=metavar, help=confirm)


def add_dry_run(parser: argparse.ArgumentParser, says: str) -> None:
    """Add `--dry-run`."""
    parser.add_argument("--dry-run", action="store_true", help=says)


def add_sets(parser: argparse.ArgumentParser, says: str) -> None:
    """Add `--set KEY=VALUE`, which may be repeated."""
    parser.add_argument(
        "--set", dest="sets", action="append", default=[], metavar="KEY=VALUE", help=says
    )


def seconds(text: str) -> float:
    """Parse a number of seconds above 0.

    Raises:
        ArgumentTypeError: The text is not such a number.
    """
    return _above_zero(text, "a number of seconds above 0")


def factor(text: str) -> float:
    """Parse a number above 0.

    Raises:
        ArgumentTypeError: The text is not such a number.
    """
    return _above_zero(text, "a number above 0")


def _above_zero(text: str, allowed: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
    return value


def from_one(text: str) -> int:
    """Parse a whole number from 1.

    Raises:
        ArgumentTypeError: The text is not such a number.
    """
    is_short = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if is_short and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
