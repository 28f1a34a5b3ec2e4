"""The exit status of an error, an interrupt, a broken pipe or a crash, and its message."""

import contextlib
import os
import sys
from collections.abc import Sequence

from cli.output import OutputFailed
from cli.parser.command_line import wants_json
from cli.version import version
from core.errors import EvalroomError, NoMachineReached, NotConfirmed, UsageWrong
from core.text import shown

_INTERRUPTED = 130
_PIPE_BROKEN = 141
_WRONG_WORDS = 2
_NOBODY_REACHED = 3
_NOT_CONFIRMED = 4


class Crash(EvalroomError):
    """An error that evalroom does not know: a bug."""


def ended_by(error: BaseException, argv: Sequence[str]) -> int:
    """Print the error that ended the program, as text or JSON; return the exit status."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, KeyboardInterrupt):
        return _INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _silence()
        return _PIPE_BROKEN
    if not isinstance(error, Exception):
        raise error
    if isinstance(error, OutputFailed):
        _silence()  # the interpreter would fail at its last flush too
    if not isinstance(error, EvalroomError):
        error = _crashed(error)
    from cli.render.plain import print_error  # noqa: PLC0415 - not for --version

    as_json = wants_json(argv) and not isinstance(error, OutputFailed)
    try:
        print_error(error, as_json=as_json)
    except (OSError, OutputFailed):
        _silence()
    return status_of(error)


def status_of(error: EvalroomError) -> int:
    """Return the exit status of an error."""
    match error:
        case UsageWrong():
            return _WRONG_WORDS
        case NotConfirmed():
            return _NOT_CONFIRMED
        case NoMachineReached():
            return _NOBODY_REACHED
        case _:
            return 1


def _crashed(error: Exception) -> EvalroomError:
    from storage.crash import crash_report  # noqa: PLC0415 - only needed here

    file = keep_crash(crash_report(error))
    where = (
        f"see the crash report: {shown(file)}" if file else "the crash report could not be written"
    )
    return Crash(f"evalroom crashed: {shown(type(error).__name__)}: {shown(str(error))}", where)


def _silence() -> None:
    """Send the interpreter's last flush to the null device: nobody reads the output."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def keep_crash(report: str) -> str | None:
    """Write a crash report and return its path; None: it could not be written."""
    from storage.crash import write_crash  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    file = write_crash(paths().crashes, report, version())
    return None if file is None else str(file)
