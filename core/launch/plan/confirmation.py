"""How a launch is confirmed."""

from collections.abc import Collection, Sequence

from core.confirmation import words_to_confirm
from core.ids import MachineName


def words_to_launch(machines: Sequence[MachineName], production: Collection[MachineName]) -> str:
    """Return the words that confirm a launch; empty: none need be typed.

    One run on a production machine: the machine's name. Several: the verb and how many runs.

    Args:
        machines: The machine of each run.
        production: The machines that are marked as production.
    """
    if not any(name in production for name in machines):
        return ""
    return words_to_confirm("launch", machines)
