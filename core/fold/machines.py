"""Changes of a machine and its link."""

from core.events import ClockMoved, LinkChanged, LinkHeard, MachineNamed
from core.fleet import Fleet
from core.fold.immutable import with_fields
from core.model.machine import LinkState, LinkStatus, Machine
from core.model.machine_trail import MachineTrail


def name_machine(fleet: Fleet, event: MachineNamed) -> Machine:
    """Return the machine as the config names it; its link, probe and facts stay."""
    known = fleet.machines.get(event.machine)
    link = LinkStatus(state=LinkState.CONNECTING, since=event.at, lost_at=event.at)
    return Machine(
        name=event.machine,
        address=event.address,
        kind=event.kind,
        link=link if known is None else known.link,
        tags=event.tags,
        read_only=event.read_only,
        production=event.production,
        probe=None if known is None else known.probe,
        facts=None if known is None else known.facts,
        facts_at=None if known is None else known.facts_at,
        trail=MachineTrail() if known is None else known.trail,
    )


def change_link(fleet: Fleet, event: LinkChanged) -> Machine | None:
    """Return the machine with its link in the new state; all else stays."""
    machine = fleet.machines.get(event.machine)
    if machine is None:
        return None
    before = machine.link
    if event.state.is_alive:
        lost_at = None
    elif before.is_alive:
        lost_at = event.at
    else:
        lost_at = before.lost_at
    link = LinkStatus(
        state=event.state,
        since=before.since if before.state is event.state else event.at,
        reason=event.reason,
        advice=event.advice,
        retry_at=event.retry_at,
        fingerprint=event.fingerprint,
        heard_at=event.at if event.state is LinkState.UP else before.heard_at,
        lost_at=lost_at,
    )
    return with_fields(machine, link=link)


def refresh_link(fleet: Fleet, event: LinkHeard) -> Machine | None:
    """Return the machine with the time when data last came over its link."""
    machine = fleet.machines.get(event.machine)
    if machine is None:
        return None
    return with_fields(machine, link=with_fields(machine.link, heard_at=event.at))


def move_clock(fleet: Fleet, event: ClockMoved) -> Machine | None:
    """Return the machine with the new offset of its clock."""
    machine = fleet.machines.get(event.machine)
    if machine is None or machine.probe is None:
        return None
    return with_fields(machine, probe=with_fields(machine.probe, clock_offset=event.offset))
