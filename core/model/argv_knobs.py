"""The value of a knob at launch, from the process's command line.

Inspect's control channel reports it for few knobs only.
"""

from collections.abc import Sequence

OPTIONS = frozenset(
    {
        "max_samples", "max_tasks", "max_connections", "max_sandboxes", "max_subprocesses",
        "timeout", "attempt_timeout", "max_retries", "time_limit", "token_limit",
        "message_limit", "log_buffer", "log_shared",
    }
)  # fmt: skip
"""The knobs that are options of `inspect eval` and `eval-set` too."""
_DIGITS = 18


def launched_with(argv: Sequence[str], knob: str) -> int | None:
    """Return the value that a command line gives a knob; None: it gives no value, or not a number.

    Args:
        argv: The command line of the process.
        knob: Its name, as `core.model.action.Change` has it.
    """
    if knob not in OPTIONS:
        return None
    option = f"--{knob.replace('_', '-')}"
    found: int | None = None
    for at, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name != option:
            continue
        if not equals:
            value = argv[at + 1] if at + 1 < len(argv) else ""
        is_number = value.isascii() and value.isdigit() and len(value) <= _DIGITS
        found = int(value) if is_number else None
    return found
