"""What is kept and said of an error that nobody expected; never with a value of a variable."""

import traceback

from core.text import Shown, shown


def report_of(error: BaseException) -> str:
    """Return an error and where it came from, without any value of a local variable."""
    lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
    return "".join(lines)


def sentence_of(error: BaseException) -> Shown:
    """Return an error as one harmless line."""
    return shown(f"{type(error).__name__}: {error}", 300)
