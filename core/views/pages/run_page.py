"""The page of one run: its state, what to check first, its logs, its spec and its commands."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core import format as fmt
from core.ctl.decode import inner, text
from core.ctl.recovery_command import recovery_command
from core.errors import UsageWrong
from core.fleet import Fleet
from core.launch.engines.start_failures import plain_text
from core.launch.engines.tmux_sessions import display_command
from core.launch.plan.eval_set_args import CODE_FOLDER
from core.launch.spec.spec_writer import table_text
from core.launch.spec.yaml_quote import plain
from core.model.run import Run, RunLog, RunState
from core.quoting import path_word, plain_word
from core.text import Shown, shown
from core.views.cells import Cell, Span, TextLine, Tone, span_of
from core.views.error_group_lines import error_group_line
from core.views.pages.moments import moment
from core.views.pages.page import Fact, Page, fact, page, section, words
from core.views.pages.recovery import recovery_lines
from core.views.tables.runs import STYLES, launched_by, log_folder, run_glyph, scores, took

_LONG = 1_000
_COMMAND = 16_000
_SPEC_LINES = 100
_OUTPUT_LINES = 500
_OUTPUT_LINE = 2_000
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANKS = re.compile(r"\n(?:[ \t]*\n){2,}")
_STATUSES: Mapping[str, Tone] = {"success": "good", "error": "error", "cancelled": "warning"}


def run_page(fleet: Fleet, run: Run | None, now: float) -> Page:
    """Return a run's page.

    Args:
        fleet: What is known.
        run: The run; None: the cursor is not on a run.
        now: The time at the desk, Unix seconds.
    """
    if run is None:
        return page("Run", (section("", (words("", "no run is selected", "dim"),)),))
    return page(
        f"{run.task} on {run.machine}",
        (
            section("Run", _what(fleet, run, now)),
            section("Check first", _first(run)),
            section("Logs", _logs(run)),
            section("Spec", spec_facts(run)),
            section("By hand", _commands(fleet, run)),
        ),
    )


def _what(fleet: Fleet, run: Run, now: float) -> Iterator[Fact]:
    state = (run_glyph(run), span_of(f" {run.state}", STYLES[run.state][1]))
    yield fact("state", state)
    if run.message:
        yield words("message", run.message, "warning", _LONG)
    if run.leftover:
        yield words("left over", run.leftover, "warning", _LONG)
    yield words("machine", run.machine, "strong")
    if run.state is RunState.ELSEWHERE:
        yield words("host", run.host, "strong")
    yield words("model", run.model)
    yield fact(
        "launched", (span_of(moment(run.at)), span_of(f"  {fmt.age(now - run.at)} ago", "dim"))
    )
    yield fact("by", launched_by(run))
    seconds = fmt.sane(took(run, now))
    if seconds is not None:
        runs = "" if run.ended_at is not None else "  so far"
        yield fact("time", (Span(fmt.duration(seconds)), span_of(runs, "dim")))
    yield words("engine", run.engine)
    yield fact("tasks", _way(fleet, run))
    yield words("folder", run.directory, "dim", _LONG)
    yield words("log folder", log_folder(run.directory, run.log_dir), "dim", _LONG)
    yield words("id", run.id, "dim")
    if run.launch and run.launch != run.id:
        yield words("matrix", run.launch, "dim")


def _way(fleet: Fleet, run: Run) -> Cell:
    process = fleet.process_of_run(run)
    if process is not None:
        return (span_of(f"pid {process.key.pid}, {process.state}: press Enter to open", "key"),)
    if run.pid is not None:
        what = "is not listed yet" if run.state is RunState.RUNNING else "is no longer listed"
        return (span_of(f"pid {run.pid} {what}", "dim"),)
    return (span_of("no known process", "dim"),)


_FIRST: Mapping[RunState, Sequence[str]] = {
    RunState.LOST: (
        "its process ended before its log was complete: killed? out of memory?",
        "finished samples are in the log; run the command below again to resume",
    ),
    RunState.UNREADABLE: (
        "its process has ended; evalroom reads its logs again when they change",
        "or copy its log folder here and read it with: inspect view --log-dir FOLDER",
    ),
    RunState.ELSEWHERE: ("it may still be running on its own host: look there",),
}


def _recovery(run: Run) -> Iterator[Fact]:
    for log in run.logs if run.state is RunState.LOST else ():
        yield from recovery_lines(log.buffer, _inspect_words(run), log.location, run.data_dir)


def recovery_commands(run: Run) -> Iterator[str]:
    """Yield the commands that recover the logs of a lost run, where buffers are left; untrusted."""
    for log in run.logs if run.state is RunState.LOST else ():
        if log.buffer is not None:
            yield recovery_command(_inspect_words(run), log.location, run.data_dir)


def _inspect_words(run: Run) -> str:
    """Return how the run's command line calls Inspect: a machine's PATH may have none."""
    by, cut, _ = run.command_line.partition(" eval-set ")
    return by if cut else "inspect"


def _first(run: Run) -> Iterator[Fact]:
    """Yield what to check first after a run failed."""
    for line in _FIRST.get(run.state, ()):
        yield words("", line)
    yield from _recovery(run)
    if run.state is RunState.ERROR and not run.logs:
        yield words("", "it wrote no log: see the end of its output")
    elif run.state is RunState.ERROR:
        for log in run.logs:
            if log.status == "success":
                continue
            yield words("", f"{log.task or 'its task'} ended with {log.outcome}", "warning", _LONG)
            for line in error_group_lines(log):
                yield words("", line, "warning", _LONG)
            command = why_command(run, log)
            if command:
                what = "full errors:" if log.errors else "its error:"
                yield words("", what, "dim")
                yield words("", command, "key", _COMMAND)
    if run.has_failed:
        yield words("", "press d to edit its spec, or R to run it again unchanged", "dim")


def why_command(run: Run, log: RunLog) -> str:
    """Return the command that prints the errors of a log; empty: the log has none. Untrusted.

    A sample's error is printed by evalroom. The error of the eval itself is in the log's header;
    the Inspect that ran the eval prints it, because the machine's PATH may have none.
    """
    if log.errors:
        return f"evalroom run {run.id} --content"
    if not log.cause:
        return ""
    return f"{_inspect_words(run)} log dump --header-only {_word(log.location)}"


def error_group_lines(log: RunLog) -> Iterator[Shown]:
    """Yield the causes of a log's errors: of its own, and of its samples' with their counts."""
    if log.cause:
        yield shown(f"the eval: {log.cause}", _LONG)
    for group in log.errors:
        yield error_group_line(group)


def _logs(run: Run) -> Iterator[Fact]:
    for log in run.logs:
        done, of = log.completed_samples, log.total_samples
        samples = "" if of is None else f"  {'?' if done is None else done} of {of} samples"
        tone = _STATUSES.get(log.outcome, "warning")
        yield words("log", log.task or run.task, "strong")
        yield fact("", (Span(shown(log.outcome), tone), span_of(samples, "dim")))
        found = scores(log)
        if found:
            yield fact("", found)
        for line in error_group_lines(log) if log.status == "success" else ():
            yield words("", line, "warning", _LONG)
        yield words("", log.location, "dim", _LONG)


def spec_facts(run: Run) -> Iterator[Fact]:
    """Yield the lines of a run's spec."""
    for line in spec_of(run).splitlines()[:_SPEC_LINES]:
        yield words("", line, limit=_COMMAND)


def spec_of(run: Run) -> str:
    """Return a run's spec as TOML, or as JSON if a value is null; untrusted."""
    table: dict[str, Any] = plain(run.spec)
    try:
        return table_text(table)
    except ValueError:
        return json.dumps(table, indent=2, default=str) + "\n"


def launch_command(run: Run) -> str:
    """Return the shell command that launches the same spec; untrusted."""
    spec, end = spec_of(run), "END"
    while any(line == end for line in spec.splitlines()):
        end += "_"
    return f"evalroom launch - <<'{end}'\n{spec}{end}\n"


def inspect_command(run: Run) -> str:
    """Return the shell command that runs Inspect as the run did, but for secrets; untrusted.

    It changes to the run's folder and sets the variables that the run's script sets.
    """
    if not run.command_line or not run.directory:
        return run.command_line
    folder = f"cd {_place(run.directory)} && "
    return folder + "".join(f"{each} " for each in _variables(run)) + run.command_line


def _variables(run: Run) -> Iterator[str]:
    """Yield the variables of a run's Inspect as words of a shell; untrusted."""
    if run.data_dir:
        yield f"XDG_DATA_HOME={_place(run.data_dir)}"
    given = inner(run.spec, "env")
    for name in given:
        value = text(given, name)
        if value is not None and _VARIABLE.fullmatch(name):
            yield f"{name}={_word(value)}"
    if "code" in run.spec:
        folder = text(inner(run.spec, "code"), "directory") or CODE_FOLDER
        is_whole = folder.startswith(("/", "~/"))
        yield f"PYTHONPATH={_place(folder if is_whole else f'{run.directory}/{folder}')}"


def secrets_note(run: Run) -> str:
    """Return which variables hold secrets and must be set before a command; empty: none."""
    names = ", ".join(inner(run.spec, "secrets"))
    return f"set these variables first; they hold secrets: {names}" if names else ""


def _place(path: str) -> str:
    """Return a path for a shell, with quotes only if it needs them."""
    home = "~/" if path.startswith("~/") else ""
    rest = path.removeprefix(home)
    if _word(rest) == rest:
        return path
    try:
        return path_word(path)
    except UsageWrong:
        return shown(path)


def _word(text: str) -> str:
    """Return a word for a shell; if no quoting can carry it, in its harmless form."""
    try:
        return plain_word(text)
    except UsageWrong:
        return shown(text)


def _commands(fleet: Fleet, run: Run) -> Iterator[Fact]:
    yield words("inspect", inspect_command(run), "key", _COMMAND)
    yield words("", secrets_note(run), "dim", _LONG)
    yield words("evalroom", "Y copies `evalroom launch` with this spec", "dim")
    machine = fleet.machines.get(run.machine)
    is_viewed = machine is not None and machine.read_only
    attach = display_command(run.attach, read_only=is_viewed)
    if attach:
        yield words("attach", " ".join(_word(word) for word in attach), "key", _COMMAND)
        yield words("", "t shows it, without input" if is_viewed else "t attaches to it", "dim")


# Output


def output_lines(data: bytes, *, is_cut: bool) -> tuple[TextLine, ...]:
    """Return the end of a run's output as harmless lines.

    Args:
        data: The output as read.
        is_cut: Whether `data` starts within a line.
    """
    raw = data.decode("utf-8", "replace").replace("\r\n", "\n")
    lines = raw.split("\n")[1 if is_cut and b"\n" in data else 0 :]
    # Of a progress bar that overwrites itself, keep the last state.
    kept = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines]
    text = plain_text("\n".join(kept)).rstrip()
    # A screen is mostly blank: without the blank lines, its text fits into the pane.
    text = _BLANKS.sub("\n\n", text).strip("\n")
    out = text.split("\n")[-_OUTPUT_LINES:] if text else []
    return tuple((Span(shown(line, _OUTPUT_LINE)),) for line in out)
