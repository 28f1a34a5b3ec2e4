"""The samples that a recovery brings into the log of a dead eval, and its command."""

from collections.abc import Iterator

from core.ctl.recovery_command import recovery_command
from core.model.log_summary import LogBuffer
from core.views.pages.page import Fact, words

_COMMAND = 2_000


def recovery_lines(
    buffer: LogBuffer | None, inspect: str, location: str, data_dir: str | None = None
) -> Iterator[Fact]:
    """Yield the content of a buffer and the command that recovers it; nothing without a buffer.

    Args:
        buffer: What is left.
        inspect: The command of the Inspect that wrote the log.
        location: The path of the log. Untrusted.
        data_dir: The XDG_DATA_HOME of the eval; None: that of the login. Untrusted.
    """
    if buffer is None:
        return
    yield words("recover", f"its buffer holds {buffer.contents}; this writes a new log:")
    yield words("", recovery_command(inspect, location, data_dir), "key", _COMMAND)
