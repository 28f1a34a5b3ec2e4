"""Equivalent `inspect ctl` commands: what to type in a shell on the machine to do the same."""

import shlex
from collections.abc import Sequence

from core.ids import SampleKey
from core.model.process import Process


def command(process: Process | None, *words: str | int) -> str:
    """Return the `inspect ctl` command with these words, quoted for a shell.

    Args:
        process: Sets the data folder and the interpreter; None: the shell's own.
        words: The words after `inspect ctl`.
    """
    where = () if process is None or not process.data_dir else (process.data_dir,)
    how = ("inspect",) if process is None or not process.python else _inspect(process.python)
    line = " ".join(shlex.quote(_plain(word)) for word in (*how, "ctl", *words))
    return "".join(f"XDG_DATA_HOME={shlex.quote(_plain(folder))} " for folder in where) + line


def _inspect(python: str) -> Sequence[str]:
    return (python, "-m", "inspect_ai")


def _plain(word: str | int) -> str:
    # An argument of a program can't contain a NUL.
    return str(word).replace("\0", "")


def task_list(process: Process | None) -> str:
    """Return the command that lists the tasks of a machine."""
    return command(process, "task", "list")


def sample_show(process: Process | None, sample: SampleKey) -> str:
    """Return the command that shows one sample."""
    words = positional(sample.task.task_id, sample.sample_id, sample.epoch)
    return command(process, "sample", "show", *words)


def positional(*values: str | int, options: Sequence[str] = ()) -> tuple[str | int, ...]:
    """Return options and values; `--` comes between them if a value looks like an option."""
    guarded = any(str(value).startswith("-") for value in values)
    return (*options, "--", *values) if guarded else (*options, *values)
