"""The entry point: parse the arguments, run the command, return an exit status.

A command's modules are imported when it runs, so that short commands stay fast.
"""

import importlib
import sys
from collections.abc import Callable, Sequence

from cli.exit_status import ended_by
from cli.library_output import begin
from cli.parser.command import GlobalOptions, ParsedCommand
from cli.parser.command_line import parse
from core.errors import first_error

Runner = Callable[[ParsedCommand, GlobalOptions], int]
"""Runs a command and returns the exit status."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run evalroom with these arguments and return the exit status. Never raises an `Exception`.

    Args:
        argv: The arguments after the program's name; None: those of this process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # run as a program, not by a test
        begin()
    try:
        return _run(words)
    except BaseException as error:  # noqa: BLE001 - the only place that catches all
        return ended_by(first_error(error), words)


def _run(argv: Sequence[str]) -> int:
    line = parse(argv)
    return runner_of(line.command)(line.command, line.options)


def runner_of(command: ParsedCommand) -> Runner:
    """Import and return the function that runs a command."""
    module, _, function = command.run_by.partition(":")
    run: Runner = getattr(importlib.import_module(module), function)
    return run


if __name__ == "__main__":
    sys.exit(main())
