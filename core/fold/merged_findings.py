"""Findings that another room found too: they get the id by which the history knows them."""

from collections.abc import Mapping
from dataclasses import replace

from core.finding_events import FindingsMerged
from core.fleet import Fleet
from core.fold.immutable import thawed, with_fields, with_items
from core.model.suspicion import Suspicion


def merge_findings(fleet: Fleet, event: FindingsMerged) -> Fleet:
    """Return the fleet with the ids of the history, also where its signs and mutes name them."""
    same = {each.own: each for each in event.same}
    if same.keys().isdisjoint(each.id for each in fleet.findings):
        return fleet
    ids = {own: each.id for own, each in same.items()}
    replaced = set(ids.values())
    findings = tuple(
        replace(each, id=one.id, opened_at=min(each.opened_at, one.opened_at))
        if (one := same.get(each.id)) is not None
        else each
        for each in fleet.findings
        if each.id in same or each.id not in replaced
    )
    suspicions = {
        place: _named(known, ids)
        for place, known in thawed(fleet.suspicions).items()
        if any(each.finding in same for each in known.values())
    }
    mutes = tuple(
        replace(each, finding=ids[each.finding]) if each.finding in ids else each
        for each in fleet.mutes
    )
    return with_fields(
        fleet,
        findings=findings,
        suspicions=with_items(fleet.suspicions, suspicions) if suspicions else fleet.suspicions,
        mutes=mutes,
    )


def _named(known: Mapping[str, Suspicion], ids: Mapping[str, str]) -> Mapping[str, Suspicion]:
    return {
        key: replace(each, finding=ids[each.finding]) if each.finding in ids else each
        for key, each in known.items()
    }
