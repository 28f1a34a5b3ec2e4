"""Sends notifications with Apprise; their addresses are secrets."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from cli.wiring.history import History
from core.config.model import Config
from core.desk.desk import Desk
from core.errors import NotSent
from core.notify.message import Message
from storage.paths import paths
from storage.secrets import Secrets

if TYPE_CHECKING:
    from core.launch.secret_store import SecretStore

SEND_TIMEOUT_S = 30.0


class AppriseSender:
    """Implements `core.notify.notifier.Sender`.

    Args:
        secrets: Where the addresses are stored.
    """

    def __init__(self, secrets: "SecretStore") -> None:
        self._secrets = secrets

    async def send(self, secret: str, message: Message) -> None:
        """See `Sender.send`."""
        address = (await self._secrets.open((secret,)))[secret]
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                problem = await asyncio.to_thread(_send, address, message)
        except TimeoutError:
            problem = f"nobody answered within {SEND_TIMEOUT_S:.0f} s"
        if problem:
            raise NotSent(
                f"the notification to {secret} was not sent: {problem}",
                "check the address: evalroom notify test",
            )


def _send(address: str, message: Message) -> str:
    """Send a message; return what went wrong, empty: nothing. The address is never repeated."""
    # It takes a third of a second to load, and most rooms never send anything.
    import apprise  # noqa: PLC0415

    sender: Any = apprise.Apprise()  # its methods have no types
    if not sender.add(address):
        return "its secret does not hold an address that Apprise knows"
    sent = sender.notify(
        title=message.title, body=message.body, body_format=apprise.NotifyFormat.TEXT
    )
    return "" if sent else "the service refused it, or can't be reached"


@contextlib.asynccontextmanager
async def notifying(desk: Desk, config: Config, history: History) -> AsyncGenerator[None, None]:
    """Send notifications during the block, as the config says."""
    if not config.notify:
        yield
        return
    from core.notify.notifier import Notifier  # noqa: PLC0415 - most rooms never send anything

    notifier = Notifier(
        config.notify,
        fleet=lambda: desk.fleet,
        now=desk.now,
        sender=AppriseSender(Secrets(paths().secrets)),
        report=desk.report_notifying,
        claims=history.told,
    )
    task = asyncio.create_task(notifier.run(), name="notifications")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
