"""Findings of the whole fleet that are open: other kinds ask for them."""

from core.fleet import Fleet
from core.judge.finding_list import with_id
from core.model.finding import Finding


def standing(fleet: Fleet, kind: str, key: str) -> Finding | None:
    """Return the open finding of a kind about the whole fleet, by the key of its sign."""
    suspicion = fleet.suspicions.get((kind, "fleet", None), {}).get(key)
    if suspicion is None or not suspicion.finding:
        return None
    finding = with_id(fleet, suspicion.finding)
    return finding if finding is not None and finding.is_open else None
