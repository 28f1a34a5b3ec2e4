"""An error for an output that can't be written: a full disk, a device that failed."""

from collections.abc import Generator
from contextlib import contextmanager

from core.errors import EvalroomError
from core.text import shown


class OutputFailed(EvalroomError):
    """The output can't be written."""


@contextmanager
def writing_output() -> Generator[None]:
    """Raise `OutputFailed` if the block can't write; a closed pipe is not a failure."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        why = shown(error.strerror or str(error))
        raise OutputFailed(f"can't write the output: {why}", "write it to another place") from error
