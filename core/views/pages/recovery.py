"""The samples that `inspect log recover` brings into the log of a dead eval, and its command."""

from collections.abc import Iterator

from core.errors import UsageWrong
from core.format import plural
from core.model.log_summary import LogBuffer
from core.quoting import path_word, plain_word
from core.views.pages.page import Fact, words

_COMMAND = 2_000


def recovery_preview(buffer: LogBuffer) -> str:
    """Return the samples that a recovery brings into the log, in words."""
    parts = [f"{plural(buffer.completed, 'finished sample')}"]
    if buffer.in_progress:
        were = "was" if buffer.in_progress == 1 else "were"
        parts.append(f"{buffer.in_progress} that {were} running, as errors that a retry runs again")
    return " and ".join(parts)


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
    yield words("recover", f"its buffer holds {recovery_preview(buffer)}; this writes a new log:")
    yield words("", recovery_command(inspect, location, data_dir), "key", _COMMAND)


def recovery_command(inspect: str, location: str, data_dir: str | None = None) -> str:
    """Return the shell command that recovers a log; arguments as in `recovery_lines`."""
    where = f"XDG_DATA_HOME={_path(data_dir, 'FOLDER')} " if data_dir else ""
    return f"{where}{inspect} log recover {_path(location, 'LOG')}"


def _path(path: str, placeholder: str) -> str:
    """Return the word for a path; the placeholder if no shell takes its name."""
    try:
        return path_word(path) if path.startswith("~") else plain_word(path)
    except UsageWrong:
        return placeholder
