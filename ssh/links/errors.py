"""The one place where asyncssh's and the system's errors become ours."""

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import asyncssh

from core.errors import LinkLost, LinkRefused, MachineError, NeedsYou
from core.ids import MachineName
from core.text import shown

_WAY_OUT = 'if `ssh` reaches it, use link = "command" with command = ["ssh", "{}"]'


def _lost(machine: MachineName, why: str) -> MachineError:
    return LinkLost(machine, f"the connection to {machine} was lost: {why}")


def _refused(machine: MachineName, why: str) -> MachineError:
    return LinkRefused(machine, f"{machine} can't be used: {why}", _WAY_OUT.format(machine))


def _needs_you(machine: MachineName, why: str) -> MachineError:
    return NeedsYou(machine, f"{machine} did not let you in: {why}", _LOG_IN)


def _no_channel(machine: MachineName, why: str) -> MachineError:
    return LinkLost(
        machine,
        f"{machine} let you in but starts no program: {why}",
        "one of: its sshd's MaxSessions is reached or 0, or sessions are forbidden for this key",
    )


_LOG_IN = "press r to be asked for what is missing; check the user, the key and the agent"

Translate = Callable[[MachineName, str], MachineError]

TRANSLATIONS: dict[type[BaseException], Translate] = {
    asyncssh.PermissionDenied: _needs_you,
    asyncssh.KeyImportError: _needs_you,
    asyncssh.KeyEncryptionError: _needs_you,
    asyncssh.PasswordChangeRequired: _needs_you,
    asyncssh.HostKeyNotVerifiable: _refused,
    asyncssh.KeyExchangeFailed: _refused,
    asyncssh.ProtocolNotSupported: _refused,
    asyncssh.ServiceNotAvailable: _refused,
    asyncssh.IllegalUserName: _refused,
    asyncssh.ConfigParseError: _refused,
    asyncssh.KeyExportError: _refused,
    asyncssh.KeyGenerationError: _refused,
    asyncssh.ConnectionLost: _lost,
    asyncssh.MACError: _lost,
    asyncssh.CompressionError: _lost,
    asyncssh.ProtocolError: _lost,
    asyncssh.DisconnectError: _lost,
    asyncssh.ChannelOpenError: _no_channel,
    asyncssh.ChannelListenError: _lost,
    asyncssh.BreakReceived: _lost,
    asyncssh.SignalReceived: _lost,
    asyncssh.TerminalSizeChanged: _lost,
    asyncssh.ProcessError: _lost,
    asyncssh.SFTPError: _lost,
    asyncssh.Error: _lost,
}
"""What each of asyncssh's errors means; the nearest base class decides. A test lists them all."""


def translated(machine: MachineName, error: BaseException) -> MachineError:
    """Return ours for an error of asyncssh or the system."""
    if isinstance(error, asyncssh.DisconnectError) and "oo many authentication" in str(error):
        return NeedsYou(
            machine,
            f"{machine} closed: too many keys were tried",
            f"name the right one as `identity` of {machine}, or as IdentityFile in ssh_config",
        )
    if isinstance(error, TimeoutError):
        return LinkLost(machine, f"{machine} did not answer in time")
    if isinstance(error, OSError):
        return _system(machine, error)
    for kind in type(error).__mro__:
        if kind in TRANSLATIONS:
            return TRANSLATIONS[kind](machine, shown(error, 300))
    return _lost(machine, shown(f"{type(error).__name__}: {error}", 300))


def _system(machine: MachineName, error: OSError) -> MachineError:
    match error:
        case socket.gaierror():
            return LinkLost(
                machine,
                f"the name of {machine} is not known: {shown(error.strerror, 200)}",
                f"check `host` of {machine} in the config",
            )
        case ConnectionRefusedError():
            return LinkLost(
                machine,
                f"{machine} refused the connection: no sshd listens on that port",
                f"check `port` of {machine} in the config, and that sshd runs there",
            )
        case ConnectionResetError() | BrokenPipeError():
            return LinkLost(
                machine,
                f"{machine} closed the connection",
                "its sshd may be restarting, or have too many logins at once (MaxStartups)",
            )
        case _:
            return LinkLost(
                machine, f"{machine} is not reached: {shown(error.strerror or error, 200)}"
            )


@contextmanager
def as_machine_errors(machine: MachineName) -> Generator[None, None, None]:
    """Raise the matching `MachineError` for any network or SSH error in the block."""
    try:
        yield
    except (asyncssh.Error, asyncssh.PasswordChangeRequired, OSError, ValueError) as error:
        # asyncssh's key errors, and some of its argument errors, are ValueErrors.
        raise translated(machine, error) from error
