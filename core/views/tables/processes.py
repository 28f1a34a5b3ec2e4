"""The table of processes: one row for each."""

from dataclasses import dataclass

from core import format as fmt
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey
from core.model.machine import Machine
from core.model.process import Process, ProcessState
from core.views.cells import UNKNOWN, Cell, Span, Table, Tone, count_cell, span_of, text_cell
from core.views.glyphs import GlyphName, glyph
from core.views.tables.fields import Fields, field, table
from core.views.tables.machines import marks


@dataclass(frozen=True, slots=True)
class ProcessLine:
    """A process, its machine, and the time now (Unix seconds at the desk)."""

    process: Process
    machine: Machine | None
    now: float

    @property
    def is_reached(self) -> bool:
        """Whether its machine can be reached now."""
        return self.machine is None or self.machine.link.is_alive


_STATES: dict[ProcessState, tuple[GlyphName, Tone]] = {
    ProcessState.STARTING: ("wait", "plain"),
    ProcessState.LIVE: ("run", "good"),
    ProcessState.BUSY: ("run", "warning"),
    ProcessState.STARVED: ("starved", "error"),
    ProcessState.HEADLESS: ("starved", "error"),
    ProcessState.OPTED_OUT: ("unknown", "dim"),
    ProcessState.PARKED: ("parked", "plain"),
    ProcessState.CONTAINED: ("unknown", "dim"),
    ProcessState.GONE: ("cancelled", "dim"),
}
_RANKS = {
    ProcessState.HEADLESS: 0,
    ProcessState.STARVED: 0,
    ProcessState.BUSY: 1,
    ProcessState.STARTING: 2,
    ProcessState.LIVE: 2,
    ProcessState.OPTED_OUT: 3,
    ProcessState.PARKED: 4,
    ProcessState.CONTAINED: 5,
    ProcessState.GONE: 6,
}


def process_glyph(line: ProcessLine) -> Span:
    """Return the glyph of a process: of its state, or unknown if its machine can't be reached."""
    if not line.is_reached and not line.process.is_gone:
        return Span(glyph("unknown"), "dim")
    name, tone = _STATES[line.process.state]
    return Span(glyph(name), tone)


def process_words(line: ProcessLine) -> Cell:
    """Return a process's state and its age, then its pauses."""
    process = line.process
    if not line.is_reached and not process.is_gone:
        return (span_of(f"unknown, was {process.state}", "dim"),)
    spans = [span_of(str(process.state), _STATES[process.state][1])]
    if process.state is ProcessState.CONTAINED:
        spans.append(span_of(", not watched from here", "dim"))
    elif process.state is not ProcessState.LIVE:
        started = running_for(line) if process.state is ProcessState.STARTING else None
        lasted = line.now - process.since if started is None else started
        within = ""
        if process.ended_after is not None:  # nobody saw when it ended
            lasted, within = line.now - process.ended_after, "within "
        spans.append(span_of(f" {within}{fmt.age(lasted)}", "dim"))
    if process.paused or process.paused_now:
        spans.append(span_of(" paused (now)" if process.paused_now else " paused", "warning"))
    if process.paused_models:
        models = ", ".join(process.paused_models[:3])
        spans.append(span_of(f" paused models: {models}", "warning"))
    return tuple(spans)


def command(process: Process) -> str:
    """Return a process's command line without interpreter and path; empty if unknown."""
    words = list(process.argv)
    for index, word in enumerate(words[:4]):
        if word.rsplit("/", 1)[-1] in {"inspect", "inspect_ai", "flow"}:
            return " ".join(["inspect" if "inspect" in word else "flow", *words[index + 1 :]])
    return " ".join(words)


def running_for(line: ProcessLine) -> float | None:
    """Return how long a process has run at least, seconds on its host's clock; None if unknown."""
    process, machine = line.process, line.machine
    if process.started_at is None:
        return None
    offset = machine.probe.clock_offset if machine is not None and machine.probe else 0.0
    until = process.ended_after
    if until is None:
        until = line.now if process.ended_at is None else process.ended_at
    return max(0.0, until + offset - process.started_at)


def _runtime(line: ProcessLine) -> Cell:
    seconds = fmt.sane(running_for(line))
    if seconds is None:
        return UNKNOWN
    least = ">" if line.process.ended_after is not None else ""
    return (span_of(f"{least}{fmt.duration(seconds)}", "dim"),)


PROCESS_FIELDS = Fields[ProcessLine](
    (
        field(
            "sign",
            lambda line: (process_glyph(line),),
            lambda line: _RANKS[line.process.state],
            title="",
            width=1,
        ),
        field(
            "machine",
            lambda line: (
                *marks(line.machine),
                *text_cell(line.process.key.machine, "dim"),
            ),
            lambda line: line.process.key.machine,
            width=8,
            rank=2,
        ),
        field(
            "pid",
            lambda line: text_cell(line.process.key.pid, "strong"),
            lambda line: line.process.key.pid,
            align="right",
            width=7,
        ),
        field(
            "state",
            process_words,
            lambda line: str(line.process.state),
            width=12,
            grow=1,
        ),
        field(
            "tasks",
            lambda line: count_cell(len(line.process.tasks), zero="dim"),
            lambda line: len(line.process.tasks),
            align="right",
            width=5,
            rank=1,
        ),
        field("time", _runtime, running_for, align="right", width=6, rank=1),
        field(
            "keep",
            lambda line: (
                UNKNOWN
                if line.process.keep_alive is None
                else (span_of("kept" if line.process.keep_alive else "no", "dim"),)
            ),
            lambda line: line.process.keep_alive,
            width=4,
            rank=4,
        ),
        field(
            "command",
            lambda line: text_cell(command(line.process), "dim"),
            lambda line: command(line.process),
            width=20,
            grow=3,
            rank=3,
        ),
        field(
            "trouble",
            lambda line: text_cell(line.process.trouble, "warning"),
            lambda line: line.process.trouble,
            width=8,
            grow=1,
            rank=5,
        ),
    )
)


def processes_table(
    fleet: Fleet, now: float, machine: MachineName | None = None
) -> Table[ProcessKey]:
    """Return the processes of one machine or of all (None), those in trouble first."""
    lines = [
        ProcessLine(process, fleet.machines.get(key.machine), now)
        for key, process in fleet.processes.items()
        if machine is None or key.machine == machine
    ]
    lines.sort(key=lambda line: _RANKS[line.process.state])
    rows = (
        PROCESS_FIELDS.row(
            line.process.key,
            line,
            "plain" if line.is_reached and line.process.ended_at is None else "dim",
        )
        for line in lines
    )
    return table(
        PROCESS_FIELDS,
        rows,
        title="Processes",
        footer=str(len(lines)) if lines else "",
        empty="no eval process is known",
    )
