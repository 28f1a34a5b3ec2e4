"""The one safety rule: the words that an operator types to confirm a loss."""

from collections.abc import Sequence


def words_to_confirm(verb: str, names: Sequence[str]) -> str:
    """Return the words to type: one target's name; for several the verb and how many there are.

    The room and the commands ask for the same words. A name that no keyboard has on its keys
    (control pictures, cut names) is replaced by the verb and `1`.

    Args:
        verb: What is confirmed, such as `cancel` or `launch`.
        names: The name of each target, harmless to show.
    """
    name = names[0].strip() if len(names) == 1 else ""
    if name and all(" " <= char <= "~" or char.isalnum() for char in name):
        return name
    return f"{verb} {len(names)}"
