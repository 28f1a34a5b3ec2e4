"""The table of machines: one row for each, those in trouble first."""

from dataclasses import dataclass

from core import format as fmt
from core.fleet import Fleet
from core.ids import MachineName
from core.model.machine import Gpu, LinkState, Machine, ToolState
from core.views.cells import UNKNOWN, Bar, Cell, Span, Table, Tone, count_cell, span_of, text_cell
from core.views.glyphs import GlyphName, glyph
from core.views.tables.fields import Fields, FieldValue, field, table


@dataclass(frozen=True, slots=True)
class MachineLine:
    """A machine, the number of its processes, and the time now (Unix seconds at the desk)."""

    machine: Machine
    processes: int
    now: float


_LINKS: dict[LinkState, tuple[GlyphName, Tone]] = {
    LinkState.CONNECTING: ("down", "plain"),
    LinkState.UP: ("live", "good"),
    LinkState.LAGGING: ("lagging", "warning"),
    LinkState.DOWN: ("down", "error"),
    LinkState.NEEDS_TRUST: ("ask", "warning"),
    LinkState.NEEDS_YOU: ("ask", "warning"),
    LinkState.REFUSED: ("failed", "error"),
}
_RANKS = {
    LinkState.DOWN: 0,
    LinkState.REFUSED: 0,
    LinkState.NEEDS_TRUST: 1,
    LinkState.NEEDS_YOU: 1,
    LinkState.LAGGING: 2,
    LinkState.CONNECTING: 3,
    LinkState.UP: 4,
}


def marks(machine: Machine | None) -> tuple[Span, ...]:
    """Return the glyphs of a machine's marks (production, read-only).

    They are shown wherever its name appears, because an order there needs more care.
    """
    if machine is None:
        return ()
    signs: tuple[tuple[GlyphName, bool, Tone], ...] = (
        ("production", machine.production, "warning"),
        ("read-only", machine.read_only, "dim"),
    )
    return tuple(span_of(f"{glyph(name)} ", tone) for name, is_so, tone in signs if is_so)


def marked_as(machine: Machine) -> tuple[Span, ...]:
    """Return the words of a machine's marks; they follow the state of its link."""
    words: tuple[tuple[str, bool, Tone], ...] = (
        (" prod", machine.production, "warning"),
        (" read-only", machine.read_only, "dim"),
        (" over limit", machine.left_out.is_any, "warning"),
    )
    return tuple(span_of(word, tone) for word, is_so, tone in words if is_so)


def link_glyph(machine: Machine) -> Span:
    """Return the glyph of a machine's link."""
    name, tone = _LINKS[machine.link.state]
    return Span(glyph(name), tone)


def link_words(machine: Machine, now: float) -> Cell:
    """Return the state of a link, its age, and the time to the next retry: `down 2m retry 8s`."""
    link = machine.link
    tone = _LINKS[link.state][1]
    if link.is_up:
        return (span_of("up", "dim"),)
    since = link.heard_at if link.state is LinkState.LAGGING else link.lost_at
    spans = [span_of(str(link.state), tone)]
    if since is not None and link.state in {LinkState.LAGGING, LinkState.DOWN}:
        spans.append(span_of(f" {fmt.age(now - since)}", tone))
    if link.retry_at is not None and link.state is LinkState.DOWN:
        when = _when_tried(link.retry_at, now)
        spans.append(span_of(f" {when}" if link.retry_at <= now else f" retry {when}", "dim"))
    return tuple(spans)


def _when_tried(retry_at: float, now: float) -> str:
    return "trying now" if retry_at <= now else fmt.age(max(1.0, retry_at - now))


def utilisation(machine: Machine) -> float | None:
    """Return the mean utilisation of a machine's GPUs, 0 to 1; None if none is known."""
    gpus = machine.facts.gpus if machine.facts is not None else ()
    known = [use for gpu in gpus if (use := fmt.sane(gpu.utilisation)) is not None]
    return max(0.0, min(1.0, sum(known) / len(known) / 100)) if known else None


def gpu_cell(machine: Machine) -> Cell:
    """Return the number of GPUs and a bar of their mean utilisation."""
    facts = machine.facts
    if facts is None:
        return UNKNOWN
    if facts.gpu_state is ToolState.ABSENT or (not facts.gpus and facts.gpu_tool is None):
        return (span_of("none", "dim"),)
    lost = sum(gpu.lost for gpu in facts.gpus)
    if facts.gpu_state is ToolState.STUCK:
        return (span_of(f"{len(facts.gpus)}\u00d7 stuck", "error"),)
    if facts.gpu_state is ToolState.FAILED:
        return (span_of("failed", "warning"),)
    if lost:
        return (span_of(f"{len(facts.gpus)}\u00d7 {lost} lost", "error"),)
    use = utilisation(machine)
    head = span_of(f"{len(facts.gpus)}\u00d7 ", "dim")
    return (head, Bar(use)) if use is not None else (head,)


def gpu_name(gpu: Gpu) -> str:
    """Return a GPU's name, with its MIG profile if it is a slice."""
    return f"{gpu.name} {gpu.mig}" if gpu.mig else gpu.name


def _use_cell(line: MachineLine) -> Cell:
    use = utilisation(line.machine)
    return UNKNOWN if use is None else (span_of(fmt.percent(use)),)


def _load(line: MachineLine) -> float | None:
    facts = line.machine.facts
    return fmt.sane(facts.load[0]) if facts is not None and facts.load else None


def _load_cell(line: MachineLine) -> Cell:
    load, facts = _load(line), line.machine.facts
    if load is None or facts is None:
        return UNKNOWN
    busy = facts.cpus is not None and load > facts.cpus
    text = fmt.count(load) if load >= 99.95 else f"{load:.1f}"  # noqa: PLR2004
    return (span_of(text, "warning" if busy else "plain"),)


def _memory(line: MachineLine) -> float | None:
    facts = line.machine.facts
    total = fmt.sane(facts.memory.total) if facts is not None else None
    free = fmt.sane(facts.memory.available) if facts is not None else None
    if not total or free is None:
        return None
    return max(0.0, min(1.0, 1 - free / total))


def _memory_cell(line: MachineLine) -> Cell:
    used = _memory(line)
    if used is None:
        return UNKNOWN
    return (span_of(fmt.percent(used), "warning" if used > 0.95 else "plain"),)  # noqa: PLR2004


def _retry(line: MachineLine) -> FieldValue:
    return line.machine.link.retry_at


MACHINE_FIELDS = Fields[MachineLine](
    (
        field(
            "sign",
            lambda line: (link_glyph(line.machine),),
            lambda line: _RANKS[line.machine.link.state],
            title="",
            width=1,
        ),
        field(
            "machine",
            lambda line: (*marks(line.machine), *text_cell(line.machine.name, "strong")),
            lambda line: line.machine.name,
            width=8,
            grow=2,
        ),
        field(
            "gpu",
            lambda line: gpu_cell(line.machine),
            lambda line: utilisation(line.machine),
            width=10,
            grow=1,
            rank=2,
        ),
        field(
            "use",
            _use_cell,
            lambda line: utilisation(line.machine),
            align="right",
            width=4,
            rank=3,
        ),
        field("load", _load_cell, _load, align="right", width=4, rank=4),
        field("mem", _memory_cell, _memory, align="right", width=4, rank=6),
        field(
            "evals",
            lambda line: count_cell(line.processes, zero="dim"),
            lambda line: line.processes,
            align="right",
            width=5,
            rank=5,
        ),
        field(
            "link",
            lambda line: (*link_words(line.machine, line.now), *marked_as(line.machine)),
            lambda line: str(line.machine.link.state),
            width=10,
            rank=1,
        ),
        field(
            "why",
            lambda line: text_cell(line.machine.link.reason, "dim"),
            lambda line: line.machine.link.reason,
            width=16,
            grow=2,
            rank=8,
        ),
        field(
            "retry",
            lambda line: (
                (span_of(_when_tried(line.machine.link.retry_at, line.now), "dim"),)
                if line.machine.link.retry_at is not None
                else UNKNOWN
            ),
            _retry,
            align="right",
            width=5,
            rank=9,
        ),
    )
)


def machines_table(fleet: Fleet, now: float) -> Table[MachineName]:
    """Return the machines: those in trouble first, then in the config's order."""
    living = dict[MachineName, int]()
    for key, process in fleet.processes.items():
        if process.ended_at is None:
            living[key.machine] = living.get(key.machine, 0) + 1
    machines = sorted(fleet.machines.values(), key=lambda each: _RANKS[each.link.state])
    rows = (
        MACHINE_FIELDS.row(machine.name, MachineLine(machine, living.get(machine.name, 0), now))
        for machine in machines
    )
    return table(
        MACHINE_FIELDS,
        rows,
        title="Machines",
        footer=str(len(machines)) if machines else "",
        empty="the config has no machines",
    )
