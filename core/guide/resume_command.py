"""Builds the command that resumes a run after it was parked, before anything is paused.

An eval-set is started again with the same arguments and log folder; it skips completed tasks. A
plain eval is resumed from its log by `inspect eval-retry`, which skips finished samples.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from core.format import plural
from core.model.process import Process
from core.model.task import Task
from core.text import shown

_OURS = frozenset({"--json", "--detach", "--no-detach"})
"""Options of output and detaching; the resumed run is always detached."""
_PINNED = frozenset({"XDG_DATA_HOME"})
"""Environment variables that the command itself sets."""
_VERBS = frozenset({"eval", "eval-set", "eval-retry", "score"})
_MODULES = frozenset({"inspect_ai", "inspect_ai._cli.main"})
"""Modules that run Inspect; it starts a detached eval as the second."""
_PYTHON = re.compile(r"(python|pypy)[0-9.]*\Z")
_LOG = (".eval", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCommand:
    """The command that resumes a run, or why it is not known.

    Attributes:
        command: The command for a shell on the run's machine; empty: not known.
        why_not: Why it is not known, one sentence; harmless.
        variables: Names of environment variables to set again; their values are not stored.
        notes: Sentences that the operator should know; harmless.
    """

    command: str = ""
    why_not: str = ""
    variables: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def resume_command(
    process: Process,
    tasks: Sequence[Task],
    *,
    unstarted: int | None = 0,
    from_spec: str | None = None,
) -> ResumeCommand:
    """Return the command that resumes a process's run after an interrupt.

    Args:
        process: The process.
        tasks: Its tasks.
        unstarted: Number of its tasks that have not started; None: not known.
        from_spec: The command from the run's spec, if evalroom launched it; else None.
    """
    names = tuple(name for name in process.variables if name not in _PINNED)
    if from_spec:
        return ResumeCommand(command=from_spec, variables=names)
    words = process.argv
    why = _unusable(process, words)
    if why is not None:
        return ResumeCommand(why_not=why, variables=names)
    at = _verb_at(words)
    if at is None:
        return ResumeCommand(
            why_not="the command line of the process is not an inspect eval", variables=names
        )
    match words[at]:
        case "eval-set":
            made = _again(words, at, tasks)
        case "eval" | "eval-retry":
            made = _retried(words, at, tasks, unstarted)
        case _:
            made = f"inspect {shown(words[at], 30)} can't be resumed"
    if isinstance(made, str):
        return ResumeCommand(why_not=made, variables=names)
    line = _line(process, (*_inspect(process, words[:at]), *made))
    return ResumeCommand(command=line, variables=names, notes=_notes(names))


def _notes(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    listed = ", ".join(shown(name, 60) for name in names)
    return (f"Before you run the command, set these variables as they were at the start: {listed}",)


def _unusable(process: Process, words: Sequence[str]) -> str | None:
    """Return why a command line can't be used again; None: it can."""
    if not words:
        return "the command line of the process can't be read"
    if words[-1] == "...":
        return "the command line of the process is too long, so its end is missing"
    hidden = [word for word in words if "***" in word]
    if hidden:
        before = [words[at - 1] for at, word in enumerate(words) if word == "***" and at]
        named = ", ".join(shown(word, 40) for word in (before or hidden)[:3])
        return f"the command line of the process contains withheld values ({named})"
    parts = (*words, process.cwd or "", process.python or "", process.data_dir or "")
    if any(shown(word, len(word) + 1) != word or "\ufffd" in word for word in parts):
        return "the command line of the process contains characters that can't be shown"
    if process.cwd is None:
        return "the working folder of the process is unknown"
    is_odd = not process.cwd.startswith("/") or "=" in words[0]
    return "a shell would misread the command line of the process" if is_odd else None


def _verb_at(words: Sequence[str]) -> int | None:
    """Return the index of Inspect's verb in a command line; None: it does not run Inspect."""
    at = 0
    if _PYTHON.match(_base(words[0])):
        at = 1
        while at < len(words) and words[at].startswith("-") and words[at] != "-m":
            at += 2 if words[at] in {"-W", "-X"} else 1
        if words[at] == "-m" and words[at + 1 : at + 2] and words[at + 1] in _MODULES:
            at += 1
        elif at >= len(words) or _base(words[at]) != "inspect":
            return None
    elif _base(words[0]) != "inspect":
        return None
    at += 1
    return at if at < len(words) and words[at] in _VERBS else None


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _inspect(process: Process, words: Sequence[str]) -> Sequence[str]:
    """Return the words that call the same Inspect, by the full path of its interpreter."""
    if process.python is None:
        return words
    if not _PYTHON.match(_base(words[0])):
        return (process.python, "-m", "inspect_ai")
    return (process.python, *words[1:])


def _again(words: Sequence[str], at: int, tasks: Sequence[Task]) -> Sequence[str] | str:
    """Return the words of the same eval-set on the same log folder, or why that is impossible."""
    given = [word for word in words[at + 1 :] if word not in _OURS]
    if any(word == "--log-dir" or word.startswith("--log-dir=") for word in given):
        return ("eval-set", "--detach", *given)
    folder = _log_folder(tasks)
    if folder is None:
        return "the log folder of the run is unknown"
    return ("eval-set", "--detach", "--log-dir", folder, *given)


def _retried(
    words: Sequence[str], at: int, tasks: Sequence[Task], unstarted: int | None
) -> Sequence[str] | str:
    """Return the words that retry the logs of a plain eval, or why that is impossible."""
    if unstarted is None:
        return "evalroom can't tell whether all tasks of the process have started"
    if unstarted:
        number = plural(unstarted, "task has", "tasks have")
        return f"{number} not started, so they have no log to retry"
    given = words[at + 1 :]
    if words[at] == "eval-retry" and sum(word.endswith(_LOG) for word in given) > 1:
        return "the process retries several logs, and some of them have not started"
    running = [task for task in tasks if not task.row.is_completed]
    logs = [_local(task.row.log_location) for task in running]
    folder = _log_folder(running)
    if not logs or not all(logs) or folder is None:
        return "the logs of the running tasks are unknown"
    options = ("--detach", "--log-dir", folder, *_kept(given))
    guard = ("--",) if any(log.startswith("-") for log in logs) else ()
    return ("eval-retry", *options, *guard, *logs)


def _kept(words: Sequence[str]) -> Iterable[str]:
    """Return the option that the log does not contain: `--ctl-server`, if it was given."""
    for at, word in enumerate(words):
        if word.startswith("--ctl-server="):
            return (word,)
        if word == "--ctl-server" and at + 1 < len(words):
            return (f"--ctl-server={words[at + 1]}",)
    return ()


def _log_folder(tasks: Sequence[Task]) -> str | None:
    """Return the folder of these tasks' logs; None: not known, or more than one."""
    folders = {_local(task.row.log_location).rpartition("/")[0] for task in tasks}
    return folders.pop() or None if len(folders) == 1 else None


def _local(location: str) -> str:
    return unquote(location[7:]) if location.startswith("file:///") else location


def _line(process: Process, words: Sequence[str]) -> str:
    data = ("env", f"XDG_DATA_HOME={process.data_dir}") if process.data_dir else ()
    command = " ".join(shlex.quote(word) for word in (*data, *words))
    return f"cd {shlex.quote(process.cwd or '.')} && {command}"
