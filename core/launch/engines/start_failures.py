"""Why a start failed: what Inspect, uv or a shell said, as one sentence with what to do."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import JobFailed
from core.text import Shown, shown

MAX_QUOTE_CHARS = 300
"""Longest part of a foreign text in a sentence, characters."""
_MAX_READ_CHARS = 64 * 1024
"""How much of an output's end is looked at, characters."""

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
_NOT_SAID = ("Pane is dead",)
"""What a terminal adds to what its program said."""

OUTPUT_FIRST = "look at its output first"


@dataclass(frozen=True, slots=True)
class _KnownFailure:
    pattern: re.Pattern[str]
    says: Callable[[re.Match[str]], str]
    advice: Callable[[re.Match[str]], str]


def _known(pattern: str, says: str, advice: str) -> _KnownFailure:
    """Return a rule; `{0}` in its texts is what the pattern's first group found, harmless."""

    def filled(text: str) -> Callable[[re.Match[str]], str]:
        return lambda match: text.format(*(shown(each, 120) for each in match.groups("")))

    return _KnownFailure(re.compile(pattern, re.MULTILINE), filled(says), filled(advice))


_KNOWN = (
    _known(
        r"^evalroom: (no secret was given for .+)",
        "{0}",
        "evalroom secrets set NAME enters it",
    ),
    _known(
        r"^evalroom: (.+ can't be started: .+)",
        "{0}",
        "look at python of the spec, or of the machine in the config",
    ),
    _known(r"^evalroom: (.+)", "{0}", OUTPUT_FIRST),
    _known(
        r"No space left on device|Disk quota exceeded",
        "the disk is full there",
        "free some space, then launch again",
    ),
    _known(
        r"No module named '?inspect_ai'?",
        "the given python has no Inspect",
        "install inspect-ai there, or leave python out: uv gets it then",
    ),
    _known(
        r"the control endpoint did not bind",
        "the eval's control channel could not be opened, so nobody could watch it",
        "a long data_dir does that: give the machine a shorter one in the config",
    ),
    _known(
        r"No inspect tasks were found",
        "no task was found under the name of the spec",
        "look at task: the file or the package that has it may be missing on the machine",
    ),
    _known(
        r"Task named '([^'\n]+)' not found",
        "the file or package has no task {0}",
        "look at task: what stands after the @ or the / is the task's own name",
    ),
    _known(
        r"Model API (\S+) of model .{1,300}? not recognized",
        "Inspect knows no provider {0}",
        "look at model, or add the package that brings the provider to packages",
    ),
    _known(
        r"ERROR: (.{1,80}?) requires (?:optional dependencies|at least version)[\s\S]*?"
        r"pip install (?:--?\S+ )*'?\"?([\w.\[\]<>=~,-]+)",
        "{0} lacks a package: {1}",
        'add packages = ["{1}"], or install it where the given python is',
    ),
    _known(
        r"Unable to initiali[sz]e ([^\n]{1,80}?)(?: client)?\s+No ([A-Z][A-Z0-9_]+)",
        "{0} found no {1} in its environment",
        "name {1} under secrets (or env, where it is no secret)",
    ),
    _known(
        r"(Existing log file [^\n]{1,200})|log directory .{1,200}? is not empty",
        "the log folder holds logs of another eval-set",
        "give log_dir another folder, or leave it out",
    ),
    _known(
        r"No such option:? '?(--?[\w-]+)",
        "the Inspect there has no option {0}",
        "leave it out of options, or ask for a newer one with the key inspect",
    ),
    _known(
        r"No solution found when resolving|requirements are unsatisfiable",
        "uv found no versions of Inspect and the packages that go together",
        "look at inspect, packages and python of the spec",
    ),
    _known(
        r"(?:error sending request|Failed to fetch|Could not connect|dns error)",
        "the machine could not download what the run needs",
        "evalroom machines prepare fetches it while there is a network; or give a python",
    ),
)


def plain_text(said: str) -> str:
    """Return a program's output without colours and Rich's markup; still untrusted."""
    bare = _ESCAPE.sub("", said[-_MAX_READ_CHARS:]).replace("\r\n", "\n").replace("\r", "\n")
    return _MARKUP.sub("", bare)


def start_failure(said: str, status: int | None = None) -> JobFailed:
    """Return the error for what a start, or a run that never came up, said.

    Args:
        said: Its output, errors last; untrusted.
        status: Its exit status; None: not known.
    """
    text = plain_text(said)
    for each in _KNOWN:
        if match := each.pattern.search(text):
            return JobFailed(f"the run did not start: {each.says(match)}", each.advice(match))
    told = error_line(text)
    if told:
        return JobFailed(f"the run did not start: {told}", OUTPUT_FIRST)
    how = "" if status is None else f" (exit status {status})"
    return JobFailed(f"the run did not start, and nothing says why{how}", OUTPUT_FIRST)


def error_line(text: str) -> Shown:
    """Return the line of an output that tells most: the last error raised, else the last line."""
    bare = (line.strip(_FRAME) for line in text.splitlines())
    lines = [line for line in bare if line and not line.startswith(_NOT_SAID)]
    raised = [line for line in lines if _RAISED.match(line) or line.startswith("Error: ")]
    return shown((raised or lines or [""])[-1], MAX_QUOTE_CHARS)
