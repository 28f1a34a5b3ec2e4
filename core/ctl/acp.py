"""The command that attaches Inspect's own ACP client to a running sample, to steer it."""

import shlex

from core.ids import SampleKey
from core.model.process import Process

_OPTION = "--acp-server"
_OFF = frozenset({"false", "no", "0"})


def can_be_steered(process: Process) -> bool:
    """Whether the process was started with an ACP server (`--acp-server`)."""
    options = [word.partition("=") for word in process.argv if word.partition("=")[0] == _OPTION]
    return any(value.lower() not in _OFF for _, _, value in options)


def steering_words(process: Process, sample: SampleKey, task: str) -> tuple[str, ...]:
    """Return the `inspect acp` command that steers a sample, to run on the sample's machine.

    If the sample is not running, that command lists the running samples of the process.

    Args:
        process: The process that runs the sample; `can_be_steered` must hold for it.
        sample: The sample to attach to.
        task: The name of its task, as the task's row has it.
    """
    where = ("env", f"XDG_DATA_HOME={process.data_dir}") if process.data_dir else ()
    how = (process.python, "-m", "inspect_ai") if process.python else ("inspect",)
    # `--eval-id` takes the id of the eval() call that opened the server, not an attempt's id.
    one = (f"--eval-id={process.run_id}",) if process.run_id else ()
    sample_id = f"--sample-id={sample.sample_id}"
    words = (*where, *how, "acp", *one, f"--task-id={task}", sample_id, f"--epoch={sample.epoch}")
    return tuple(word.replace("\0", "") for word in words)


def steering_line(process: Process, sample: SampleKey, task: str) -> str:
    """Return `steering_words` as one line for a shell; untrusted text."""
    return shlex.join(steering_words(process, sample, task))
