"""Reads a host's settings from ssh_config, and finds the options that asyncssh ignores."""

import getpass
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import asyncssh
from asyncssh.config import SSHClientConfig

from core.config.model import MachineConfig
from core.errors import LinkRefused
from core.text import shown

SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")

_COSMETIC_OPTIONS = frozenset(
    {
        "escapechar",
        "fingerprinthash",
        "hashknownhosts",
        "ignoreunknown",
        "loglevel",
        "syslogfacility",
        "updatehostkeys",
        "visualhostkey",
    }
)
"""Options about output and bookkeeping: the connection is the same without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshHost:
    """The connection settings of a machine, from the config and ssh_config together.

    Attributes:
        name: The name that one would give to `ssh`.
        host: The host name to connect to.
        alias: The name to look up in known_hosts: HostKeyAlias, or `host`.
        identities: Key files in order; empty: the default ones.
        known_hosts: The user's known_hosts files; evalroom reads them and never writes them.
        algorithms: HostKeyAlgorithms; None: not set.
        ciphers: Ciphers; None: not set.
        unsupported: Options set for this host that asyncssh does not support.
        paths: The ssh_config files that were read.
    """

    name: str
    host: str
    user: str
    port: int
    alias: str
    identities: tuple[str, ...]
    identities_only: bool
    known_hosts: tuple[str, ...]
    algorithms: str | None
    ciphers: str | None
    unsupported: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def address(self) -> str:
        """`user@host:port`, for messages."""
        return f"{self.user}@{self.host}:{self.port}"

    def advice(self) -> str | None:
        """Return a warning about unsupported options; None: there are none."""
        if not self.unsupported:
            return None
        options = ", ".join(shown(option, 40) for option in self.unsupported)
        return (
            f"evalroom ignores {options} of {self.name} in ssh_config. If you need it, set "
            f'link = "command" and command = ["ssh", "{self.name}"]'
        )


class _RecordingHandlers(dict[str, Any]):
    """asyncssh's handlers of ssh_config options; records each option that has no handler."""

    def __init__(self, handlers: dict[str, Any], unsupported: list[str]) -> None:
        super().__init__(handlers)
        self._unsupported = unsupported

    def __missing__(self, option: str) -> Any:
        if option not in _COSMETIC_OPTIONS and option not in self._unsupported:
            self._unsupported.append(option)
        raise KeyError(option)


def config_paths() -> tuple[str, ...]:
    """Return the readable ssh_config files, the user's first."""
    user = Path("~", ".ssh", "config").expanduser()
    return tuple(str(path) for path in (user, SYSTEM_CONFIG) if os.access(path, os.R_OK))


def resolve_host(machine: MachineConfig) -> SshHost:
    """Return the connection settings of `machine`.

    Blocks: it reads files and may run the program of a `Match exec`.

    Raises:
        LinkRefused: ssh_config can't be read or parsed.
    """
    name = machine.host or machine.name
    paths = config_paths()
    unsupported: list[str] = []
    handlers = cast("dict[str, Any]", SSHClientConfig._handlers)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
    recording = _RecordingHandlers(handlers, unsupported)
    reader = type("Reader", (SSHClientConfig,), {"_handlers": recording})
    user: Any = machine.user or ()
    port: Any = machine.port or ()
    try:
        config = cast("type[SSHClientConfig]", reader).load(
            None, paths, False, False, False, _local_user(), user, name, port
        )
    except (asyncssh.ConfigParseError, OSError, ValueError) as error:
        raise LinkRefused(
            machine.name,
            f"can't use ssh_config for {machine.name}: {shown(error, 200)}",
            f'fix it, or set link = "command" and command = ["ssh", "{name}"]',
        ) from error
    get = config.get
    host = str(get("Hostname") or name)
    identity = machine.identity
    identities = (identity,) if identity else tuple(cast("list[str]", get("IdentityFile") or ()))
    named = machine.known_hosts
    files = tuple(cast("list[str]", get("UserKnownHostsFile") or ("~/.ssh/known_hosts",)))
    system = tuple(cast("list[str]", get("GlobalKnownHostsFile") or ("/etc/ssh/ssh_known_hosts",)))
    return SshHost(
        name=name,
        host=host,
        user=machine.user or str(get("User") or _local_user()),
        port=machine.port or cast("int", get("Port") or 22),
        alias=str(get("HostKeyAlias") or host),
        identities=identities,
        identities_only=bool(get("IdentitiesOnly")) or identity is not None,
        known_hosts=(named,) if named else (*files, *system),
        algorithms=cast("str | None", get("HostKeyAlgorithms")),
        ciphers=cast("str | None", get("Ciphers")),
        unsupported=tuple(unsupported),
        paths=paths,
    )


def _local_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
