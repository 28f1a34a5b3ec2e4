"""Frozen mappings: a changed copy without touching, or hashing again, what stays."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def thawed(mapping: Mapping[K, V]) -> dict[K, V]:
    """Return a dict with what `mapping` holds.

    A proxy's own `copy` clones the table below; `dict(proxy)` would hash every key again,
    which costs a thousand times more for a thousand tasks.
    """
    return mapping.copy() if isinstance(mapping, MappingProxyType) else dict(mapping)


def with_item(mapping: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    """Return `mapping` with one item set; a key that is there keeps its place."""
    items = thawed(mapping)
    items[key] = value
    return MappingProxyType(items)


def with_items(mapping: Mapping[K, V], changed: Mapping[K, V]) -> Mapping[K, V]:
    """Return `mapping` with several items set."""
    items = thawed(mapping)
    items.update(changed)
    return MappingProxyType(items)


def without(mapping: Mapping[K, V], keys: Collection[K]) -> Mapping[K, V]:
    """Return `mapping` without these keys; those that it lacks do no harm."""
    items = thawed(mapping)
    for key in keys:
        items.pop(key, None)
    return MappingProxyType(items)
