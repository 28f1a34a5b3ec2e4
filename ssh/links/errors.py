"""Turns errors of asyncssh and of the operating system into `MachineError`s with advice."""

import errno
import json
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import asyncssh

from core.errors import HostKeyRefused, LinkLost, LinkRefused, MachineError, NeedsYou
from core.ids import MachineName
from core.text import shown

_SIGN_IN = (
    "check the user, the key and the ssh agent, or press r to enter a passphrase or a password"
)


def _lost(machine: MachineName, why: str) -> MachineError:
    is_silent = "timed out" in why.lower() or "timeout" in why.lower()
    return LinkLost(machine, f"the connection to {machine} was lost: {why}", is_silent=is_silent)


def _refused(machine: MachineName, why: str) -> MachineError:
    return LinkRefused(machine, f"can't connect to {machine}: {why}")


def _untrusted(machine: MachineName, why: str) -> MachineError:
    return HostKeyRefused(machine, f"can't connect to {machine}: {why}")


def _needs_you(machine: MachineName, why: str) -> MachineError:
    return NeedsYou(machine, f"{machine} rejected the login: {why}", _SIGN_IN)


def _no_channel(machine: MachineName, why: str) -> MachineError:
    return LinkLost(
        machine,
        f"{machine} accepted the login but can't start a program: {why}",
        "check MaxSessions in its sshd_config, and whether this key may open sessions",
    )


Translate = Callable[[MachineName, str], MachineError]

TRANSLATIONS: dict[type[BaseException], Translate] = {
    asyncssh.PermissionDenied: _needs_you,
    asyncssh.KeyImportError: _needs_you,
    asyncssh.KeyEncryptionError: _needs_you,
    asyncssh.PasswordChangeRequired: _needs_you,
    asyncssh.HostKeyNotVerifiable: _untrusted,
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
"""How to translate each error of asyncssh; the nearest base class decides. A test checks that
every error class of asyncssh is listed."""


_REPLACED_KEYS = {"-l": "user", "-p": "port", "-i": "identity", "-F": "ssh_config"}
"""The keys of a machine in the config whose work an option of ssh does."""


def use_command(words: Sequence[str]) -> str:
    """Return the advice to reach a machine by the ssh command `words`."""
    listed = ", ".join(json.dumps(word, ensure_ascii=False) for word in words)
    replaced = [key for flag, key in _REPLACED_KEYS.items() if flag in words]
    instead = f" in place of host, {', '.join(replaced)}" if replaced else ""
    return f'set link = "command" and command = [{shown(listed, 400)}]{instead}'


def machine_error(
    machine: MachineName, error: BaseException, ssh: Sequence[str] | None = None
) -> MachineError:
    """Return the `MachineError` for an error of asyncssh or of the operating system.

    Args:
        machine: For messages.
        error: The error.
        ssh: The ssh command that reaches the machine; None: by its name.
    """
    found = _machine_error(machine, error)
    if isinstance(found, LinkRefused) and not found.advice:
        found.advice = f"if plain `ssh` can connect, {use_command(ssh or ('ssh', machine))}"
    return found


def _machine_error(machine: MachineName, error: BaseException) -> MachineError:
    if isinstance(error, asyncssh.DisconnectError) and "oo many authentication" in str(error):
        return NeedsYou(
            machine,
            f"{machine} closed the connection: too many keys were offered",
            f"set `identity` of {machine} to the right key, or IdentityFile in ssh_config",
        )
    if isinstance(error, TimeoutError):
        return LinkLost(
            machine,
            f"{machine} did not answer in time",
            f"check that it is up, and `host` and `port` of {machine} in the config",
            is_silent=True,
        )
    if isinstance(error, OSError):
        return _system_error(machine, error)
    for kind in type(error).__mro__:
        if kind in TRANSLATIONS:
            return TRANSLATIONS[kind](machine, shown(error, 300))
    return _lost(machine, shown(f"{type(error).__name__}: {error}", 300))


_SILENT_ERRORS = frozenset(
    {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ETIMEDOUT}
)
"""Errors of a network that carries nothing."""


def _system_error(machine: MachineName, error: OSError) -> MachineError:
    match error:
        case socket.gaierror():
            return LinkLost(
                machine,
                f"can't resolve the host name of {machine}: {shown(error.strerror, 200)}",
                f"check `host` of {machine} in the config",
                is_silent=error.errno == socket.EAI_AGAIN,
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
                "its sshd may be restarting, or may have too many logins at once (MaxStartups)",
            )
        case _:
            return LinkLost(
                machine,
                f"can't reach {machine}: {shown(error.strerror or error, 200)}",
                is_silent=error.errno in _SILENT_ERRORS,
            )


@contextmanager
def as_machine_errors(
    machine: MachineName, ssh: Sequence[str] | None = None
) -> Generator[None, None, None]:
    """Raise the matching `MachineError` for any network or SSH error in the block.

    Args:
        machine: For messages.
        ssh: The ssh command that reaches the machine; None: by its name.
    """
    try:
        yield
    except (asyncssh.Error, asyncssh.PasswordChangeRequired, OSError, ValueError) as error:
        # asyncssh's key errors, and some of its argument errors, are ValueErrors.
        raise machine_error(machine, error, ssh) from error
