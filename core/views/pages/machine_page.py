"""The page of one machine: its link, its host, its GPUs and who uses them, its processes."""

from collections.abc import Iterator

from core import format as fmt
from core.fleet import Fleet
from core.ids import MachineName
from core.model.machine import (
    Container,
    Docker,
    Gpu,
    InspectFound,
    Machine,
    MachineFacts,
    ToolState,
)
from core.model.process import Process
from core.text import shown
from core.views.cells import UNKNOWN, Bar, Cell, Span, Tone, span_of, text_cell
from core.views.pages.page import Fact, Page, Section, fact, page, section, words
from core.views.tables.machines import gpu_name, link_words
from core.views.tables.processes import ProcessLine, command, process_words

_SHOWN_CONTAINERS = 50


def machine_page(fleet: Fleet, name: MachineName, now: float) -> Page:
    """Return a machine's page.

    Args:
        fleet: All that is known.
        name: The machine.
        now: Unix seconds at the desk.
    """
    machine = fleet.machines.get(name)
    if machine is None:
        return page(name, (section("", (words("", "this machine is not in the config"),)),))
    processes = [each for key, each in fleet.processes.items() if key.machine == name]
    facts = machine.facts
    sections = [section("Link", _link(machine, now)), section("Host", _host(machine, now))]
    if facts is not None:
        sections.append(_gpus(fleet, facts, processes))
        sections.append(section("Docker", _docker(facts.docker, facts.at)))
    lines = (ProcessLine(each, machine, now) for each in processes)
    sections.append(
        section(
            "Processes",
            (
                fact(
                    str(line.process.key.pid),
                    (*process_words(line), span_of(f"  {command(line.process)}", "dim")),
                )
                for line in lines
            ),
        )
    )
    return page(name, sections)


def _link(machine: Machine, now: float) -> Iterator[Fact]:
    link = machine.link
    yield words("address", machine.address)
    yield words("link type", machine.kind, "dim")
    yield fact("link", link_words(machine, now))
    if machine.left_out.is_any:
        yield words("left out", f"{machine.left_out.words}: it sends too much", "warning")
    if link.reason:
        yield words("why", link.reason, limit=400)
    if link.advice:
        yield words("what to do", link.advice, "key", limit=400)
    if link.fingerprint:
        yield words("host key", link.fingerprint, "key")
    if link.heard_at is not None:
        yield fact("last heard", (span_of(f"{fmt.age(now - link.heard_at)} ago", "dim"),))
    if machine.tags:
        yield words("tags", ", ".join(machine.tags))
    if machine.read_only or machine.production:
        marks = ["read-only"] * machine.read_only + ["production"] * machine.production
        yield words("marked", ", ".join(marks), "warning")


def _host(machine: Machine, now: float) -> Iterator[Fact]:
    probe, facts = machine.probe, machine.facts
    if probe is not None:
        yield words("host", f"{probe.user}@{probe.host}")
        yield words("platform", probe.platform)
        yield words("probe", f"pid {fmt.sane(probe.pid):.0f}, Python {probe.python}", "dim")
        skew = fmt.sane(probe.clock_offset)
        if skew is not None:
            tone: Tone = "warning" if abs(skew) > 2 else "dim"  # noqa: PLR2004 - seconds
            yield fact("clock", (span_of(fmt.clock_offset(skew), tone),))
    if facts is None:
        return
    if facts.load:
        load = " ".join(f"{fmt.sane(each) or 0:.1f}" for each in facts.load[:3])
        cpus = f" on {facts.cpus:g} CPUs" if facts.cpus is not None else ""
        yield words("load", load + cpus)
    yield fact("memory", _share(facts.memory.total, facts.memory.available))
    for disk in facts.disks[:16]:
        label = f"{disk.what} disk"
        yield fact(label, (*_share(disk.total, disk.free), span_of(f"  {disk.path}", "dim")))
    yield fact("inspect", _inspect(facts.inspect))
    if machine.facts_at is not None:
        yield fact("last read", (span_of(f"{fmt.age(now - machine.facts_at)} ago", "dim"),))


def _share(total: float | None, free: float | None) -> Cell:
    whole, left = fmt.sane(total), fmt.sane(free)
    if not whole or whole < 0 or left is None:
        return UNKNOWN
    used = max(0.0, min(1.0, 1 - left / whole))
    tone: Tone = "error" if used > 0.95 else "good"  # noqa: PLR2004
    return (Bar(used, tone=tone), span_of(f" {fmt.size(left)} free of {fmt.size(whole)}"))


def _inspect(found: InspectFound) -> Cell:
    if found.state is ToolState.OK:
        return (*text_cell(found.version), span_of(f"  {found.python or ''}", "dim"))
    if found.state is ToolState.ABSENT:
        return (span_of("not installed in the configured Python", "warning"),)
    if found.state is ToolState.UNKNOWN:
        return UNKNOWN
    return (span_of(str(found.state), "warning"), span_of(f" {found.error or ''}", "dim"))


def _gpus(fleet: Fleet, facts: MachineFacts, processes: list[Process]) -> Section:
    lines = list[Fact]()
    if facts.gpu_state in {ToolState.STUCK, ToolState.FAILED}:
        since = f" for {fmt.age(facts.at - facts.gpu_since)}" if facts.gpu_since else ""
        why = facts.gpu_error or "the tool does not respond; these are its last readings"
        lines.append(
            fact(
                facts.gpu_tool or "tool",
                (span_of(f"{facts.gpu_state}{since}", "error"), span_of(f" {why}", "dim")),
            )
        )
    elif facts.gpu_error and facts.gpu_state is ToolState.OK:
        lines.append(fact("warning", (span_of(facts.gpu_error, "warning"),)))
    elif not facts.gpus:
        lines.append(words("", "none", "dim"))
    by_pid = {process.key.pid: process for process in processes if process.ended_at is None}
    for gpu in facts.gpus[:128]:
        lines.append(fact(str(gpu.index), _gpu(gpu)))
        for held in gpu.pids[:16]:
            process = by_pid.get(held.pid)
            memory = f" {fmt.size(held.memory)}" if held.memory is not None else ""
            who = _who(fleet, process) if process is not None else "not an eval"
            tone: Tone = "plain" if process is not None else "dim"
            lines.append(fact("", (span_of(f"pid {held.pid}{memory}  {who}", tone),)))
    return section("GPUs", lines)


def _who(fleet: Fleet, process: Process) -> str:
    names = dict.fromkeys(fleet.tasks[key].row.task for key in process.tasks if key in fleet.tasks)
    return ", ".join(list(names)[:4]) or command(process) or "an eval"


def _gpu(gpu: Gpu) -> Cell:
    if gpu.lost:
        return (span_of("lost", "error"), span_of(f" {gpu_name(gpu)}", "dim"))
    use = fmt.sane(gpu.utilisation)
    spans: list[Span | Bar] = []
    if use is not None:
        spans += [Bar(max(0.0, min(1.0, use / 100))), span_of(f" {fmt.percent(use / 100)}")]
    if gpu.memory_used is not None and gpu.memory_total is not None:
        spans.append(span_of(f"  {fmt.size(gpu.memory_used)}/{fmt.size(gpu.memory_total)}"))
    heat = fmt.sane(gpu.temperature)
    if heat is not None:
        spans.append(span_of(f"  {heat:.0f}°C", "warning" if heat >= 85 else "dim"))  # noqa: PLR2004
    watts, most = fmt.sane(gpu.power), fmt.sane(gpu.power_limit)
    if watts is not None:
        spans.append(span_of(f"  {watts:.0f}{f'/{most:.0f}' if most is not None else ''} W", "dim"))
    spans.append(span_of(f"  {gpu_name(gpu)}", "dim"))
    return tuple(spans)


def _held_by(container: Container) -> str:
    holder = container.holder
    if holder is None:
        return ""
    ended = "" if holder.is_alive else ", which has ended"
    sample = f"{shown(holder.sample_id, 60)}/{holder.epoch}"
    return f"  sample {sample} of {shown(holder.task, 60)} (process {holder.pid}{ended})"


def _docker(docker: Docker, at: float) -> Iterator[Fact]:
    if docker.state is ToolState.OK:
        yield words("version", docker.version, "dim")
    elif docker.state is not ToolState.UNKNOWN:
        since = f" for {fmt.age(at - docker.since)}" if docker.since is not None else ""
        tone: Tone = "dim" if docker.state is ToolState.ABSENT else "warning"
        why = f": {docker.error}" if docker.error else ""
        yield fact("state", (span_of(f"{docker.state}{since}", tone), span_of(why)))
    for container in docker.containers[:_SHOWN_CONTAINERS]:
        memory = f"{fmt.size(container.memory)}  " if container.memory is not None else ""
        rest = f"{memory}{container.image}  {container.status}{_held_by(container)}"
        yield words(container.name or container.id[:12], rest, "dim")
    more = max(docker.total, len(docker.containers)) - _SHOWN_CONTAINERS
    if more > 0:
        yield words("", f"{more} more", "dim")
