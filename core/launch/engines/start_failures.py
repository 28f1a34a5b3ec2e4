"""Turns the output of a failed start, from Inspect, uv or a shell, into a message with advice."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.errors import JobFailed
from core.text import Shown, shown

MAX_QUOTE_CHARS = 300
"""Longest quotation of a program's output in a message, characters."""
_MAX_READ_CHARS = 64 * 1024
"""How much of the end of an output is read, characters."""

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_STYLE = (
    "bold|dim|italic|underline|blink|reverse|strike|not|on|link|default|bright_[a-z]+|black"
    "|red|green|yellow|blue|magenta|cyan|white|grey[0-9]*"
)
_MARKUP = re.compile(rf"\[/?(?:{_STYLE})(?:[ =][^\[\]]{{0,80}})?\]|\[/\]")
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Warning|Interrupt|Refused)(?::|$)")
_FRAME = " \t─━│┃╭╮╰╯┌┐└┘█"
_TMUX_LINES = ("Pane is dead",)
"""Lines that tmux adds to the output of its program."""

READ_OUTPUT = "read its output first"


@dataclass(frozen=True, slots=True)
class _KnownFailure:
    pattern: re.Pattern[str]
    says: Callable[[re.Match[str]], str]
    advice: Callable[[re.Match[str]], str]


def _known(pattern: str, says: str, advice: str) -> _KnownFailure:
    """Return a rule; `{0}` in its texts stands for the pattern's first group, made harmless."""

    def filled(text: str) -> Callable[[re.Match[str]], str]:
        return lambda match: text.format(*(shown(each, 120) for each in match.groups("")))

    return _KnownFailure(re.compile(pattern, re.MULTILINE), filled(says), filled(advice))


_LIMITS = (
    _known(
        r"(?:No space left on device|Disk quota exceeded): '(/[^'\n]{1,200})'",
        "the disk of {0} is full",
        "free some space, then launch again",
    ),
    _known(
        r"No space left on device|Disk quota exceeded",
        "the machine's disk is full",
        "free some space, then launch again",
    ),
    _known(
        r"Too many open files",
        "it ran out of open files (ulimit -n)",
        "raise the limit of open files of that login, or set a smaller max_samples",
    ),
    _known(
        r"can't start new thread|[Ff]ork\w*: (?:\w+: )?Resource temporarily unavailable"
        r"|BlockingIOError: \[Errno 11\] Resource temporarily unavailable"
        r"|pthread_create failed",
        "it could start no more processes or threads (ulimit -u, or the control group's pids.max)",
        "raise that limit, or set a smaller max_samples or max_subprocesses",
    ),
    _known(
        r"^MemoryError|Cannot allocate memory|std::bad_alloc",
        "it ran out of memory",
        "set a smaller max_samples, or choose a machine with more memory",
    ),
)
"""Limits of the place where a program runs: its disk, files, processes and memory."""
_KNOWN = (
    _known(
        r"^evalroom: (no secret was given for .+)",
        "{0}",
        "enter it with: evalroom secrets set NAME",
    ),
    _known(
        r"^evalroom: (.+ can't be started: .+)",
        "{0}",
        "correct `python` in the spec, or the machine's `python` in the config",
    ),
    _known(r"^evalroom: (.+)", "{0}", READ_OUTPUT),
    *_LIMITS,
    _known(
        r"No module named '?inspect_ai'?",
        "the given Python does not have Inspect",
        "install inspect-ai for it, or remove `python` from the spec so that uv installs Inspect",
    ),
    _known(
        r"the control endpoint did not bind",
        "the eval could not open its control channel, so evalroom could not watch it",
        "give the machine a shorter `data_dir` in the config",
    ),
    _known(
        r"No inspect tasks were found",
        "Inspect did not find a task with the name in the spec",
        "check `task`: its file or its package may be missing on the machine",
    ),
    _known(
        r"Task named '([^'\n]+)' not found",
        "the file or package has no task {0}",
        "check the name after the @ or the / in `task`",
    ),
    _known(
        r"Model API (\S+) of model .{1,300}? not recognized",
        "Inspect does not know the provider {0}",
        "check `model`, or add the package with this provider to `packages`",
    ),
    _known(
        r"ERROR: (.{1,80}?) requires (?:optional dependencies|at least version)[\s\S]*?"
        r"pip install (?:--?\S+ )*'?\"?([\w.\[\]<>=~,-]+)",
        "{0} needs the package {1}",
        'add packages = ["{1}"] to the spec, or install it for the given Python',
    ),
    _known(
        r"Unable to initiali[sz]e ([^\n]{1,80}?)(?: client)?\s+No ([A-Z][A-Z0-9_]+)",
        "{0} did not find {1} in its environment",
        "add {1} to `secrets`, or to `env` if it is not a secret",
    ),
    _known(
        r"(Existing log file [^\n]{1,200})|log directory .{1,200}? is not empty",
        "the log folder holds logs of another eval-set",
        "choose another `log_dir`, or leave it out",
    ),
    _known(
        r"No such option:? '?(--?[\w-]+)",
        "the Inspect on that machine has no option {0}",
        "remove it from `options`, or set `inspect` to a newer version",
    ),
    _known(
        r"No solution found when resolving|requirements are unsatisfiable",
        "uv did not find compatible versions of Inspect and the packages",
        "check `inspect`, `packages` and `python` in the spec",
    ),
    _known(
        r"(?:error sending request|Failed to fetch|Could not connect|dns error)",
        "the machine could not download what the run needs",
        "run `evalroom machines prepare` while the machine has a network, or set `python` to an"
        " installed interpreter",
    ),
)


def plain_text(output: str) -> str:
    """Return a program's output without colours and Rich markup; still untrusted."""
    bare = _ESCAPE.sub("", output[-_MAX_READ_CHARS:]).replace("\r\n", "\n").replace("\r", "\n")
    return _MARKUP.sub("", bare)


def start_failure(output: str, status: int | None = None) -> JobFailed:
    """Return the error for the output of a start that failed.

    Args:
        output: The output, standard error last; untrusted.
        status: The exit status; None: unknown.
    """
    text = plain_text(output)
    for each in _KNOWN:
        if match := each.pattern.search(text):
            return JobFailed(f"the run did not start: {each.says(match)}", each.advice(match))
    line = error_line(text)
    if line:
        return JobFailed(f"the run did not start: {line}", READ_OUTPUT)
    how = "" if status is None else f" (exit status {status})"
    return JobFailed(f"the run did not start, and its output does not say why{how}", READ_OUTPUT)


def reason_in(output: str) -> str:
    """Return why a program failed, from its output: a known cause, else its most telling line."""
    text = plain_text(output)
    return _cause(_KNOWN, text) or error_line(text)


def limit_reached(output: str) -> str:
    """Return which limit of its place a program reached, by its output; empty: none is named."""
    return _cause(_LIMITS, plain_text(output))


def _cause(rules: Sequence[_KnownFailure], text: str) -> str:
    return next((each.says(match) for each in rules if (match := each.pattern.search(text))), "")


def error_line(text: str) -> Shown:
    """Return the most telling line of an output: the last exception, else the last line."""
    bare = (line.strip(_FRAME) for line in text.splitlines())
    lines = [line for line in bare if line and not line.startswith(_TMUX_LINES)]
    raised = [line for line in lines if _RAISED.match(line) or line.startswith("Error: ")]
    return shown((raised or lines or [""])[-1], MAX_QUOTE_CHARS)
