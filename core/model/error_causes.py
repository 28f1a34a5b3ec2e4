"""Why samples of a running task errored, as far as it was read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.model.log_summary import ErrorGroup
from core.model.sample import SampleId

MAX_GROUPS = 20
"""Groups of one task; the errors of further causes become one group."""
OTHER_CAUSES = "other causes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCauses:
    """The causes that the process of a running task told; its log tells them all once it ended.

    Attributes:
        of: The cause (see `ErrorGroup.cause`) of each errored sample that was read, bounded.
        groups: The same, grouped; the most frequent cause first.
        eval_id: The attempt that they belong to.
        as_of: Time of the newest answer, Unix seconds on the eval's clock; None: none came.
        heard_at: When it came, Unix seconds at the desk; None: none came.
        errored: How many samples were errored then.
    """

    of: Mapping[SampleId, str] = field(default_factory=lambda: MappingProxyType({}))
    groups: tuple[ErrorGroup, ...] = ()
    eval_id: str = ""
    as_of: float | None = None
    heard_at: float | None = None
    errored: int = 0


def grouped_causes(causes: Iterable[tuple[str, int, SampleId]]) -> tuple[ErrorGroup, ...]:
    """Group errors by cause, the most frequent first.

    Args:
        causes: For each: (cause, how many samples have it, one of these samples).
    """
    counts, examples = dict[str, int](), dict[str, SampleId]()
    for cause, number, example in causes:
        counts[cause] = counts.get(cause, 0) + number
        examples.setdefault(cause, example)
    groups = sorted(
        (ErrorGroup(cause, number, examples[cause]) for cause, number in counts.items()),
        key=lambda group: -group.count,
    )
    if len(groups) <= MAX_GROUPS:
        return tuple(groups)
    rest = groups[MAX_GROUPS - 1 :]
    other = ErrorGroup(OTHER_CAUSES, sum(group.count for group in rest), rest[0].example)
    return (*groups[: MAX_GROUPS - 1], other)
