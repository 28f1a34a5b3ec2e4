"""What a link is: it starts a program over there and gives its streams. Nothing more.

Everything else (the probe, frames, files) rides on that, so there are only two kinds of link:
`asyncssh_link` and `command_link`.
"""

from typing import Protocol

from core.errors import MachineError

SHELL = "/bin/sh"
"""The one word that is ever run: it needs no quoting in any login shell."""


class Program(Protocol):
    """A program that runs over there. Its streams are bytes."""

    async def write(self, data: bytes) -> None:
        """Write to its standard input; returns when there is room for more.

        Raises:
            LinkLost: It no longer reads, or the link is gone.
        """
        ...

    async def read(self) -> bytes:
        """Return what its standard output gave, at most 64 KiB; empty at the end."""
        ...

    async def read_error(self) -> bytes:
        """Return what its standard error gave, at most 64 KiB; empty at the end."""
        ...

    async def wait(self) -> int | None:
        """Return its exit status once it ended.

        None: the connection died under it, or a signal ended it. The outcome is unknown then,
        never a success.
        """
        ...

    async def close(self) -> None:
        """End it: its input first, then its channel. Bounded in time; never raises."""
        ...


class Link(Protocol):
    """The way to one machine. It is opened once and not used again after it broke."""

    async def open(self) -> None:
        """Connect, within a deadline.

        Raises:
            LinkLost: It can't be reached now.
            NeedsTrust: Its host key is unknown.
            NeedsYou: Authentication did not succeed.
            LinkRefused: Its host key changed, or the config can't be carried out.
        """
        ...

    async def start(self) -> Program:
        """Start `SHELL` over there, within a deadline.

        Raises:
            LinkLost: The connection is gone, or no channel came.
            LinkRefused: The account can't run programs.
        """
        ...

    async def close(self) -> None:
        """Give everything up; bounded in time, never raises."""
        ...

    def explain(self, status: int | None, said: str) -> MachineError | None:
        """Return what it means that `SHELL` never came up, where this kind of link knows.

        Args:
            status: The exit status, None where there was none.
            said: The end of its standard error, untrusted.
        """
        ...

    def advice(self) -> str | None:
        """What the operator should know about this link though it works; None: nothing."""
        ...
