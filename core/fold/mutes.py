"""The mutes of a fleet: which of them hold."""

from core.finding_events import FindingsMuted
from core.fleet import Fleet
from core.fold.immutable import with_fields
from core.model.mute import MAX_MUTE_S

MAX_MUTES = 200
"""Mutes that a fleet holds; the oldest are dropped first."""


def change_mutes(fleet: Fleet, event: FindingsMuted) -> Fleet:
    """Return the fleet with a new mute, without those that it replaces and those that are over.

    A mute that ends at or before the event ends the older mutes of the same findings. No mute lasts
    longer than `MAX_MUTE_S`, whoever wrote it into the history.
    """
    mute = event.mute.lasting(min(event.at + MAX_MUTE_S, event.mute.until))
    kept = [each for each in fleet.mutes if each.until > event.at and not each.is_like(event.mute)]
    if mute.until > event.at:
        kept.append(mute)
    return with_fields(fleet, mutes=tuple(kept[-MAX_MUTES:]))
