"""What a knob was set to when its process was started, by the process's own command line.

Inspect's channel tells that of few knobs; the words that started it tell it of the rest.
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
    """Return the value that a command line gives a knob; None: it gives none, or no number.

    Args:
        argv: The process's words, as the probe tells them.
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
