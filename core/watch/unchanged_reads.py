"""Decodes which polls a beat of the probe reports as read again, with the answer of before."""

from collections.abc import Iterator
from typing import cast

from core.ctl.decode import JsonObject, as_number, items
from core.ids import MachineName, ProcessKey

PollKey = tuple[ProcessKey, str]
"""A process and the name of one of its polls."""
_FIELDS = 4


def unchanged_reads(machine: MachineName, head: JsonObject) -> Iterator[tuple[PollKey, float]]:
    """Yield each poll that the head of a beat names, and when it was read.

    The time is in Unix seconds on the host's clock. A row that is not of this shape is left out.
    """
    for row in items(head, "polls"):
        fields = cast("list[object]", row) if isinstance(row, list) else []
        if len(fields) < _FIELDS:
            continue
        pid, start, name, read_at = fields[:_FIELDS]
        clock = as_number(read_at)
        if isinstance(pid, int) and clock is not None:
            yield (ProcessKey(machine, pid, str(start)), str(name)), clock
