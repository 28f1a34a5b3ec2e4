"""Sends notifications while the room runs."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from core.config.notify import NotifyRule
from core.errors import EvalroomError
from core.fleet import Fleet
from core.notify.message import Message, message_of
from core.notify.outbox import Outbox

LOOK_INTERVAL_S = 1.0


class Sender(Protocol):
    """Sends messages."""

    async def send(self, secret: str, message: Message) -> None:
        """Send a message to the address that a secret holds.

        Raises:
            EvalroomError: The secret is missing, or nobody took the message.
        """
        ...


class Notifier:
    """Tells findings to people who do not look at the room.

    Args:
        rules: The rules of the config.
        fleet: Returns all that is known.
        now: Returns the time at the desk, Unix seconds.
        sender: Sends the messages.
        report: Called with the reason when a message could not be sent, and with None once one
            was sent again.
    """

    def __init__(
        self,
        rules: Sequence[NotifyRule],
        *,
        fleet: Callable[[], Fleet],
        now: Callable[[], float],
        sender: Sender,
        report: Callable[[str | None], None],
    ) -> None:
        self._rules = rules
        self._fleet = fleet
        self._now = now
        self._sender = sender
        self._report = report
        self._outbox = Outbox(rules, fleet().findings)

    async def run(self) -> None:
        """Send what is due, until cancelled."""
        if not self._rules:
            return
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            await self.send_due()

    async def send_due(self) -> None:
        """Send what is due now. A message that can't be sent is tried again later."""
        fleet, now = self._fleet(), self._now()
        for index, findings in self._outbox.due(fleet, now, minute_of_day(now)):
            try:
                await self._sender.send(self._rules[index].secret, message_of(fleet, findings, now))
            except EvalroomError as error:
                self._outbox.note_failed(index, now)
                self._report(error.sentence)
            else:
                self._outbox.note_sent(index, findings, now)
                self._report(None)


def minute_of_day(at: float) -> int:
    """Return the minutes since local midnight."""
    local = datetime.fromtimestamp(at).astimezone()
    return 60 * local.hour + local.minute
