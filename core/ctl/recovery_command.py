"""The shell command that recovers the log of a dead eval."""

from core.errors import UsageWrong
from core.model.process import Process
from core.quoting import path_word, plain_word


def recovery_command(inspect: str, location: str, data_dir: str | None = None) -> str:
    """Return the shell command that recovers a log.

    Args:
        inspect: The command of the Inspect that wrote the log.
        location: The path of the log. Untrusted.
        data_dir: The XDG_DATA_HOME of the eval; None: that of the login. Untrusted.
    """
    where = f"XDG_DATA_HOME={_path(data_dir, 'FOLDER')} " if data_dir else ""
    return f"{where}{inspect} log recover {_path(location, 'LOG')}"


def inspect_of(process: Process | None) -> str:
    """Return the command of the Inspect of a process."""
    python = process.python if process is not None else None
    return "inspect" if python is None else f"{_path(python, 'PYTHON')} -m inspect_ai"


def _path(path: str, placeholder: str) -> str:
    """Return the word for a path; the placeholder if no shell takes its name."""
    try:
        return path_word(path) if path.startswith("~") else plain_word(path)
    except UsageWrong:
        return placeholder
