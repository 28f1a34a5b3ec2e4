"""Handles keys one after the other: a key waits until the one before has taken effect.

Textual dispatches keys at once, but runs the action of a key only after it has bubbled up to the
app. With a fast `/queue`, the `q` would then quit evalroom. Here a key waits until the one before
and everything it caused has been handled.
"""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from textual import events
from textual.message_pump import MessagePump

from tui.terminal.textual_internals import OpenApp

KEY_TIMEOUT_S = 0.5
"""After this long the next key is handled even if the one before is not done."""

MOST_WAITING = 400
"""If more keys wait, all are dropped: nobody types that far ahead, so it is a stray paste."""


class KeyHolder:
    """A screen that can hold back keys typed before it is ready."""

    def holds(self, key: events.Key) -> bool:
        """Return True to keep or drop this key; False to let it be handled."""
        raise NotImplementedError


class KeyQueueApp(OpenApp, inherit_bindings=False):
    """An app that handles typed keys in order, each to its end."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._typed: deque[events.Key] = deque()
        self._typed_at = time.monotonic()
        self._turn = 0
        self._is_handing = False

    async def on_event(self, event: events.Event) -> None:
        """Queue a typed key; handle everything else at once."""
        if not isinstance(event, events.Key) or event.is_forwarded or not self.screen_stack:
            await super().on_event(event)
            return
        self._typed_at = time.monotonic()
        self.key_typed()
        if len(self._typed) >= MOST_WAITING:
            self._typed.clear()
            self.keys_dropped()
        self._typed.append(event)
        if not self._is_handing:
            await self._hand_next()

    @property
    def quiet_for(self) -> float:
        """Seconds since the last key, or since the app was made."""
        return time.monotonic() - self._typed_at

    def key_typed(self) -> None:
        """Do what must happen before a typed key is handled; any thread may call it."""

    def keys_dropped(self) -> None:
        """Report that keys were dropped."""

    async def _hand_next(self) -> None:
        while self._typed and self.screen_stack:
            key, top = self._typed.popleft(), self.screen
            if isinstance(top, KeyHolder) and top.holds(key):
                continue
            self._turn += 1
            self._is_handing = True
            target = self.focused or top
            await super().on_event(key)
            # The path of the key, and again that of the messages it caused.
            way: list[MessagePump] = [*target.ancestors_with_self, self]
            asyncio.get_running_loop().call_later(KEY_TIMEOUT_S, self._give_up, self._turn)
            await self._follow(self._turn, [*way, *way])
            return

    async def _follow(self, turn: int, way: Sequence[MessagePump]) -> None:
        """Follow a key through the message queues that it bubbles through."""
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
