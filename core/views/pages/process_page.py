"""The page of one process: its state, its command, its GPUs and its tasks."""

from collections.abc import Iterator

from core import format as fmt
from core.fleet import Fleet
from core.ids import ProcessKey
from core.views.cells import UNKNOWN, Cell, span_of
from core.views.pages.moments import end_words
from core.views.pages.page import Fact, Page, fact, page, section, words
from core.views.slow_polls import slow_poll_words, slow_polls
from core.views.tables.machines import gpu_name
from core.views.tables.processes import ProcessLine, command, process_words, running_for
from core.views.tables.row_context import task_line
from core.views.tables.samples import operation_cell
from core.views.tables.tasks import done_cell, progress_bar, score_cell, state_word

_CUT_OFF = (
    "The file of its control socket was removed, perhaps by an Inspect in a container or on another"
    " host that shares this home and took the process for dead. The eval goes on, and its log will"
    " show how it ends. Give each host and container its own XDG_DATA_HOME."
)


def process_page(fleet: Fleet, key: ProcessKey, now: float) -> Page:
    """Return a process's page; `now` is Unix seconds at the desk."""
    process = fleet.processes.get(key)
    heading = f"{key.machine} {key.pid}"
    if process is None:
        return page(heading, (section("", (words("", "this process is no longer known"),)),))
    line = ProcessLine(process, fleet.machines.get(key.machine), now)
    return page(
        heading,
        (
            section("Process", _facts(fleet, line, now + fleet.clock_offset(key.machine))),
            section("GPUs", _gpus(line)),
            section("Tasks", _tasks(fleet, line)),
        ),
    )


def _facts(fleet: Fleet, line: ProcessLine, clock: float) -> Iterator[Fact]:
    process = line.process
    yield from _state(fleet, line, clock)
    seconds = fmt.sane(running_for(line))
    yield fact("running", UNKNOWN if seconds is None else (span_of(fmt.duration(seconds)),))
    if process.ended_at is not None:
        yield words("ended", end_words(process.ended_after, process.ended_at))
    yield words("command", command(process), limit=1_000)
    yield words("working dir", process.cwd, "dim")
    yield words("python", process.python, "dim")
    yield words("Inspect run", process.run_id, "dim")
    yield words("control API", _api_version(line), "dim")
    yield words("socket", process.socket_path, "dim")
    yield words("data dir", process.data_dir, "dim")
    if process.keep_alive is not None:
        yield words("at the end", "parks until released" if process.keep_alive else "exits")


def _state(fleet: Fleet, line: ProcessLine, clock: float) -> Iterator[Fact]:
    process = line.process
    yield fact("state", process_words(line))
    if process.container is not None:
        yield words("container", f"{process.container.engine} {process.container.id}".strip())
        yield words("to watch it", process.container.advice, limit=400)
    elif not process.can_signal and not process.is_gone:
        yield words("signals", process.signal_refusal, "warning", limit=400)
    if process.is_stopped:
        yield words(
            "stopped", f"by a signal; to continue it, run: kill -CONT {process.key.pid}", "warning"
        )
    for operation in process.operations or ():
        if operation.sample is None:
            yield fact("doing", operation_cell(operation, clock))
    if process.is_cut_off:
        yield words("channel", _CUT_OFF, "warning", limit=400)
    if process.trouble:
        yield words("trouble", process.trouble, "warning", limit=400)
    for what, poll in slow_polls(fleet, process):
        yield words("polls", f"{what} {slow_poll_words(poll)}", "warning", limit=400)


def _api_version(line: ProcessLine) -> str | None:
    version = line.process.api_version
    return None if version is None else f"version {version}"


def _gpus(line: ProcessLine) -> Iterator[Fact]:
    facts = line.machine.facts if line.machine is not None else None
    for gpu in facts.gpus if facts is not None else ():
        for held in gpu.pids:
            if held.pid == line.process.key.pid:
                memory = UNKNOWN if held.memory is None else (span_of(fmt.size(held.memory)),)
                yield fact(str(gpu.index), (*memory, span_of(f"  {gpu_name(gpu)}", "dim")))


def _tasks(fleet: Fleet, line: ProcessLine) -> Iterator[Fact]:
    for key in line.process.tasks:
        task = task_line(fleet, key, line.now)
        if task is None:
            continue
        value: Cell = (
            state_word(task),
            span_of("  "),
            *progress_bar(task),
            span_of(" "),
            *done_cell(task),
            span_of("  "),
            *score_cell(task),
        )
        yield fact(task.task.row.task or key.task_id, value)
