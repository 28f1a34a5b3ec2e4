"""The `inspect ctl` command that does the same by hand, for a shell on that machine."""

import shlex
from collections.abc import Sequence

from core.ids import SampleKey, TaskKey
from core.model.process import Process


def command(process: Process | None, *words: str | int) -> str:
    """Return a command in the process's data folder, run by its own Inspect where known."""
    where = () if process is None or not process.data_dir else (process.data_dir,)
    how = ("inspect",) if process is None or not process.python else _inspect(process.python)
    line = " ".join(shlex.quote(_plain(word)) for word in (*how, "ctl", *words))
    return "".join(f"XDG_DATA_HOME={shlex.quote(_plain(folder))} " for folder in where) + line


def _inspect(python: str) -> Sequence[str]:
    return (python, "-m", "inspect_ai")


def _plain(word: str | int) -> str:
    # A NUL ends any argument; no shell can be told one.
    return str(word).replace("\0", "")


def task_list(process: Process | None) -> str:
    """Return the command that lists the tasks of a machine."""
    return command(process, "task", "list")


def process_list(process: Process | None) -> str:
    """Return the command that lists the processes of a machine."""
    return command(process, "process", "list")


def sample_list(process: Process | None, task: TaskKey, *, all_rows: bool = False) -> str:
    """Return the command that lists a task's samples."""
    return command(process, "sample", "list", *positional(task.task_id, options=_all(all_rows)))


def sample_errors(process: Process | None, task: TaskKey) -> str:
    """Return the command that lists a task's errors."""
    return command(process, "sample", "errors", *positional(task.task_id))


def sample_show(process: Process | None, sample: SampleKey, *, content: bool = False) -> str:
    """Return the command that shows one sample."""
    return command(process, "sample", "show", *_of(sample, content=content))


def sample_events(process: Process | None, sample: SampleKey, *, content: bool = False) -> str:
    """Return the command that shows a sample's newest events."""
    return command(process, "sample", "events", *_of(sample, content=content))


def sample_messages(process: Process | None, sample: SampleKey, *, content: bool = False) -> str:
    """Return the command that shows a sample's newest messages."""
    return command(process, "sample", "messages", *_of(sample, content=content))


def sample_store(process: Process | None, sample: SampleKey, *, content: bool = False) -> str:
    """Return the command that shows a sample's store."""
    return command(process, "sample", "store", *_of(sample, content=content))


def config(process: Process | None, task: TaskKey) -> str:
    """Return the command that shows a task's knobs."""
    return command(process, "config", *positional(task.task_id))


def process_config(process: Process | None) -> str:
    """Return the command that shows a process's knobs; it takes no other running in its folder."""
    return command(process, "config")


def task_score(process: Process | None, task: TaskKey) -> str:
    """Return the command that shows a task's last scoring, without starting one."""
    options = ("--status", "--no-wait")
    return command(process, "task", "score", *positional(task.task_id, options=options))


def throughput(process: Process | None, pid: int) -> str:
    """Return the command that shows what a process's models get through."""
    return command(process, "model", "throughput", pid)


def _all(all_rows: bool) -> tuple[str, ...]:
    return ("--all",) if all_rows else ()


def _of(sample: SampleKey, *, content: bool) -> tuple[str | int, ...]:
    return positional(
        sample.task.task_id,
        sample.sample_id,
        sample.epoch,
        options=("--content",) if content else (),
    )


def positional(*values: str | int, options: Sequence[str] = ()) -> tuple[str | int, ...]:
    """Return words of which none can be taken for an option, whatever they begin with."""
    guarded = any(str(value).startswith("-") for value in values)
    return (*options, "--", *values) if guarded else (*options, *values)
