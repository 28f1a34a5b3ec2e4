"""Why samples errored, as lines: each cause with its count and one sample that has it."""

from core.model.log_summary import ErrorGroup
from core.text import Shown, shown

_LONG = 400


def error_group_line(group: ErrorGroup) -> Shown:
    """Return a cause with its count and one sample that has it."""
    sample, epoch = group.example
    which = f"sample {sample}" if epoch == 1 else f"sample {sample}, epoch {epoch}"
    return shown(f"{group.count} x {group.cause} (such as {which})", _LONG)
