"""Sends notifications while the room runs."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from core.config.notify import NotifyRule
from core.errors import EvalroomError, StorageError
from core.fleet import Fleet
from core.model.finding import Finding
from core.notify.claims import Claims
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
        claims: What other instances of the operator sent, and send; None: there is no record, so
            that this one sends all that opens from now on.
    """

    def __init__(
        self,
        rules: Sequence[NotifyRule],
        *,
        fleet: Callable[[], Fleet],
        now: Callable[[], float],
        sender: Sender,
        report: Callable[[str | None], None],
        claims: Claims | None = None,
    ) -> None:
        self._rules = rules
        self._fleet = fleet
        self._now = now
        self._sender = sender
        self._report = report
        self._claims = claims
        self._before = fleet().findings
        told = (
            self._before if claims is None else (each for each in self._before if each.is_milestone)
        )
        self._outbox = Outbox(rules, told)

    async def run(self) -> None:
        """Send what is due, until cancelled."""
        if not self._rules:
            return
        await self.begin()
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            await self.send_due()

    async def begin(self) -> None:
        """Count what is open now as told to the addresses that never heard anything yet.

        What an earlier room found, but could not tell, such as in quiet hours, is told now.
        """
        if self._claims is None:
            return
        now = self._now()
        for account in {rule.secret for rule in self._rules}:
            with contextlib.suppress(StorageError):
                await self._claims.note_known(account, self._before, now)

    async def send_due(self) -> None:
        """Send what is due now. A message that can't be sent is tried again later."""
        fleet, now = self._fleet(), self._now()
        for index, findings in self._outbox.due(fleet, now, minute_of_day(now)):
            mine = await self._claimed(index, findings, now)
            if mine:
                await self._send(index, mine, message_of(fleet, mine, now))

    async def _claimed(
        self, index: int, findings: Sequence[Finding], now: float
    ) -> Sequence[Finding]:
        """Return what this instance sends; the others know of it, or send it themselves."""
        if self._claims is None:
            return findings
        rule = self._rules[index]
        try:
            claim = await self._claims.claim(rule.secret, findings, now=now, every=rule.every)
        except StorageError:
            return findings  # twice is better than never
        self._outbox.note_told(index, (each for each in findings if each.id in claim.told))
        if claim.silent_until is not None:
            self._outbox.be_silent(index, claim.silent_until)
        return [each for each in findings if each.id in claim.mine]

    async def _send(self, index: int, findings: Sequence[Finding], message: Message) -> None:
        account, ids = self._rules[index].secret, [each.id for each in findings]
        try:
            await self._sender.send(account, message)
        except EvalroomError as error:
            self._outbox.note_failed(index, self._now())
            self._report(error.sentence)
            is_sent = False
        else:
            self._outbox.note_sent(index, findings, self._now())
            self._report(None)
            is_sent = True
        if self._claims is None:
            return
        with contextlib.suppress(StorageError):  # the claim ends by itself
            if is_sent:
                await self._claims.note_sent(account, ids, self._now())
            else:
                await self._claims.give_up(account, ids)


def minute_of_day(at: float) -> int:
    """Return the minutes since local midnight."""
    local = datetime.fromtimestamp(at).astimezone()
    return 60 * local.hour + local.minute
