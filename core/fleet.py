"""The fleet: all that is known now. Only `core.fold.fold.fold` makes a new one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.ids import MachineName, ProcessKey, TaskKey
from core.model.finding import Finding
from core.model.machine import Machine
from core.model.mute import Mute
from core.model.order import Order
from core.model.process import Process
from core.model.run import Run
from core.model.suspicion import Subject, Suspicion
from core.model.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All machines, processes, tasks, findings, orders and runs that are known.

    Attributes:
        at: Time of the newest event, Unix seconds at the desk.
        machines: In the config's order.
        processes, tasks: In the order in which they were first seen.
        findings: Newest first, bounded.
        orders: Newest first, bounded: orders of this instance, and open ones taken over from an
            instance that ended.
        runs: By id, in the order in which they were first seen, bounded.
        dismissed: Processes that the operator dismissed; their files may be found again.
        suspicions: What the judge remembers of signs, by kind, scope and subject, then by key.
        mutes: The mutes of findings, oldest first, bounded; some may be over.
        judged_at: When the fleet was last judged as a whole, Unix seconds at the desk.
        quiet_until: Until when the judge need not look at a subject whose answers do not change,
            Unix seconds at the desk.
        judged_to: Of a process with more tasks than are judged for one event, the number of the
            task with which the next event begins.
        spin_ups: How long tasks took until their first sample was done, seconds, by their name and
            model: the newest ones, bounded.
        usual_calls: The p95 of the newest finished calls of each model, seconds.
    """

    at: float = 0.0
    machines: Mapping[MachineName, Machine] = field(default_factory=lambda: MappingProxyType({}))
    processes: Mapping[ProcessKey, Process] = field(default_factory=lambda: MappingProxyType({}))
    tasks: Mapping[TaskKey, Task] = field(default_factory=lambda: MappingProxyType({}))
    findings: tuple[Finding, ...] = ()
    orders: tuple[Order, ...] = ()
    runs: Mapping[str, Run] = field(default_factory=lambda: MappingProxyType({}))
    dismissed: frozenset[Process] = frozenset()
    suspicions: Mapping[tuple[str, str, Subject], Mapping[str, Suspicion]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    mutes: tuple[Mute, ...] = ()
    judged_at: float = 0.0
    quiet_until: Mapping[Subject, float] = field(default_factory=lambda: MappingProxyType({}))
    judged_to: Mapping[ProcessKey, int] = field(default_factory=lambda: MappingProxyType({}))
    spin_ups: Mapping[tuple[str, str], tuple[float, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    usual_calls: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def clock_offset(self, machine: MachineName) -> float:
        """Return a host's clock minus the desk's, seconds; 0 while it is not known."""
        known = self.machines.get(machine)
        return known.probe.clock_offset if known is not None and known.probe is not None else 0.0

    def is_gone(self, key: ProcessKey) -> bool:
        """Return whether a process has ended; a process that the fleet does not list has."""
        process = self.processes.get(key)
        return process is None or process.is_gone

    def is_up(self, name: MachineName) -> bool:
        """Return whether a machine is known and its link is up."""
        machine = self.machines.get(name)
        return machine is not None and machine.link.is_up

    def process_of_run(self, run: Run) -> Process | None:
        """Return the newest process of a run; None: the fleet lists no process of it."""
        found = (
            process
            for process in self.processes.values()
            if process.key.machine == run.machine
            and (process.run or _recorded(run, process.key)) == run.id
        )
        return max(found, key=lambda each: (each.ended_at is None, each.since), default=None)


def _recorded(run: Run, key: ProcessKey) -> str | None:
    """Return the id of the run whose record names a process; its environment may be unreadable."""
    is_it = run.pid == key.pid and run.start is not None and run.start == key.start
    return run.id if is_it else None
