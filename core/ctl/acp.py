"""Steering a sample: Inspect's own client over ACP, attached to one sample of one process."""

import shlex

from core.ids import SampleKey
from core.model.process import Process

_OPTION = "--acp-server"
_OFF = frozenset({"false", "no", "0"})


def can_be_steered(process: Process) -> bool:
    """Whether a process was started with a server for ACP clients."""
    told = [word.partition("=") for word in process.argv if word.partition("=")[0] == _OPTION]
    return any(value.lower() not in _OFF for _, _, value in told)


def steering_words(process: Process, sample: SampleKey, task: str) -> tuple[str, ...]:
    """Return the command that steers a sample, on its machine: `inspect acp`.

    Where the sample does not run now, it lists those of the process that do.

    Args:
        process: That runs it; it must be one that can be steered.
        sample: Which.
        task: Its task's name, as the task's row has it.
    """
    where = ("env", f"XDG_DATA_HOME={process.data_dir}") if process.data_dir else ()
    how = (process.python, "-m", "inspect_ai") if process.python else ("inspect",)
    # What is called an eval id there is the id of the eval() call that opened the server.
    one = (f"--eval-id={process.run_id}",) if process.run_id else ()
    sample_id = f"--sample-id={sample.sample_id}"
    words = (*where, *how, "acp", *one, f"--task-id={task}", sample_id, f"--epoch={sample.epoch}")
    return tuple(word.replace("\0", "") for word in words)


def steering_line(process: Process, sample: SampleKey, task: str) -> str:
    """Return the same for a shell there; untrusted text."""
    return shlex.join(steering_words(process, sample, task))
