"""How a launch is confirmed."""

from collections.abc import Collection, Sequence

from core.ids import MachineName


def words_to_launch(machines: Sequence[MachineName], production: Collection[MachineName]) -> str:
    """Return the words that confirm a launch; empty: none need be typed.

    One production machine: its name. Several: the verb and how many runs.

    Args:
        machines: The machine of each run.
        production: The machines that are marked as production.
    """
    named = list(dict.fromkeys(name for name in machines if name in production))
    if not named:
        return ""
    return named[0] if len(named) == 1 else f"launch {len(machines)}"
