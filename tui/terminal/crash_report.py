"""Reports of unexpected errors; they contain no values of variables."""

import traceback

from core.text import Shown, shown


def report_of(error: BaseException) -> str:
    """Return an error with its traceback, without values of local variables."""
    lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
    return "".join(lines)


def sentence_of(error: BaseException) -> Shown:
    """Return an error as one harmless line."""
    return shown(f"{type(error).__name__}: {error}", 300)
