"""The first poll of a command, which says what it waits for if that takes long."""

from cli.commands.desk_protocols import DeskReader
from cli.render.plain import print_note
from core.format import duration_in_words, plural

NOTE_AFTER_S = 5.0
_NAMED = 5


async def first_poll(desk: DeskReader, timeout: float) -> bool:
    """Poll every machine once, for at most `timeout` seconds; a note names those that are late.

    Returns:
        False when the timeout passed first.
    """
    before_note = min(timeout, NOTE_AFTER_S)
    if await desk.first_poll(before_note):
        return True
    rest = timeout - before_note
    if rest <= 0:
        return False
    awaited = desk.awaited()
    more = f" and {plural(len(awaited) - _NAMED, 'other')}" if len(awaited) > _NAMED else ""
    names = f"{', '.join(awaited[:_NAMED])}{more}"
    print_note(f"waiting for {names}, for at most {duration_in_words(rest)} more")
    return await desk.first_poll(rest)
