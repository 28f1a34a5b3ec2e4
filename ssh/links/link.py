"""The interface of a link: it connects to one machine and starts programs there.

The probe, the jobs and all files go over a program's standard streams, so two kinds of link are
enough: `asyncssh_link` and `command_link`.
"""

from typing import Protocol

from core.errors import MachineError

SHELL = "/bin/sh"
"""The only command that a link runs. It needs no quoting in any login shell."""


class Program(Protocol):
    """A program that runs on a machine, with its standard streams as bytes."""

    async def write(self, data: bytes) -> None:
        """Write to its standard input; returns when the buffer has room for more.

        Raises:
            LinkLost: The program closed its input, or the link is gone.
        """
        ...

    async def read(self) -> bytes:
        """Return the next bytes of its standard output, at most 64 KiB; empty at the end."""
        ...

    async def read_error(self) -> bytes:
        """Return the next bytes of its standard error, at most 64 KiB; empty at the end."""
        ...

    async def wait(self) -> int | None:
        """Wait for the program's end and return its exit status.

        Returns:
            None: the connection broke or a signal ended the program. Treat the outcome as
            unknown, never as a success.
        """
        ...

    async def close(self) -> None:
        """Close its input, then its channel. Takes bounded time and never raises."""
        ...


class Link(Protocol):
    """One attempt to reach a machine: open it once, and make a new link after it broke."""

    async def open(self) -> None:
        """Connect and log in; the link sets its own timeouts.

        Raises:
            LinkLost: The machine can't be reached now.
            NeedsTrust: Its host key is unknown.
            NeedsYou: The login failed and needs the operator.
            LinkRefused: Its host key changed, or a setting can't be used.
        """
        ...

    async def start(self) -> Program:
        """Start `SHELL` on the machine; the link sets its own timeout.

        Raises:
            LinkLost: The connection is gone, or no channel opened.
            LinkRefused: The account can't run programs.
        """
        ...

    async def close(self) -> None:
        """End all programs and disconnect. Takes bounded time and never raises."""
        ...

    def explain(self, status: int | None, stderr: str) -> MachineError | None:
        """Return why `SHELL` did not start, if this kind of link recognises the failure.

        Args:
            status: The exit status; None if there was none.
            stderr: The end of its standard error, untrusted.
        """
        ...

    @property
    def login_timeout(self) -> float:
        """Seconds that `start` may add before the program's first output, for a login."""
        ...

    async def came_up(self) -> None:
        """Note that the probe answers over this link."""
        ...

    async def went_silent(self) -> None:
        """Note that no data came over this link, before the next one is made."""
        ...

    def advice(self) -> str | None:
        """Return a warning to show while the link is up; None: nothing to warn about."""
        ...


class LinkFactory(Protocol):
    """Makes a new link for each attempt to connect."""

    def __call__(self, *, interactive: bool) -> Link:
        """Return a link that is not open yet.

        Args:
            interactive: Whether the operator may be asked for a passphrase or a password.
        """
        ...
