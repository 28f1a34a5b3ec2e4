"""Keys one after the other: the next is looked at when the one before did what it does.

Textual hands keys on at once, while a key's action runs only when the key has bubbled up to the
app. Of a fast `/queue`, the `q` would then quit the room. Here a key waits until the one before
has gone that whole way, and what it caused too.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from textual import events
from textual.message_pump import MessagePump

from tui.terminal.textual_internals import OpenApp

PATIENCE = 0.5
"""Seconds that a key may take until the next one is looked at all the same."""

MOST = 400
"""Keys that may wait. Nobody types that far ahead: it is a paste that went astray."""


class KeyHolder:
    """A screen that may hold back keys which were typed before it can take them."""

    def holds(self, key: events.Key) -> bool:
        """Return whether this key is held back, or dropped; False: it is handed on."""
        raise NotImplementedError


class KeyQueueApp(OpenApp, inherit_bindings=False):
    """An app that takes typed keys in their order, each to its end."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._typed: deque[events.Key] = deque()
        self._turn = 0
        self._is_handing = False

    async def on_event(self, event: events.Event) -> None:
        """Take a typed key into the row; hand everything else on."""
        if not isinstance(event, events.Key) or event.is_forwarded or not self.screen_stack:
            await super().on_event(event)
            return
        if len(self._typed) >= MOST:
            self._typed.clear()
            self.flooded()
        self._typed.append(event)
        if not self._is_handing:
            await self._hand_next()

    def flooded(self) -> None:
        """Say that keys were dropped: far more came than anybody types."""

    async def _hand_next(self) -> None:
        while self._typed and self.screen_stack:
            key, top = self._typed.popleft(), self.screen
            if isinstance(top, KeyHolder) and top.holds(key):
                continue
            self._turn += 1
            self._is_handing = True
            target = self.focused or top
            await super().on_event(key)
            # The key's own way, and once more for what it made the widgets say.
            way: list[MessagePump] = [*target.ancestors_with_self, self]
            asyncio.get_running_loop().call_later(PATIENCE, self._give_up, self._turn)
            await self._follow(self._turn, [*way, *way])
            return

    async def _follow(self, turn: int, way: Sequence[MessagePump]) -> None:
        """Walk behind a key through the queues that it bubbles through."""
        if turn != self._turn or not self._is_handing:
            return
        for index, pump in enumerate(way):
            if pump.call_later(self._follow, turn, way[index + 1 :]):
                return
        self._is_handing = False
        await self._hand_next()

    def _give_up(self, turn: int) -> None:
        if self._is_handing and turn == self._turn:
            self._is_handing = False
            self.call_later(self._hand_next)
