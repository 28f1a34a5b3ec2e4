"""What ~/.ssh/config says of a host, and which of its words the library would ignore."""

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

SYSTEM = Path("/etc/ssh/ssh_config")

_HARMLESS = frozenset(
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
"""Words about what ssh prints and writes: without them the same host is reached the same way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshHost:
    """How a machine is reached, from the config and ssh_config together.

    Attributes:
        name: What the user would say to ssh.
        host: The real host name.
        alias: HostKeyAlias, or `host`: what known_hosts calls it.
        identities: Key files in order; empty: the usual ones.
        known_hosts: The user's own files, read and never written.
        algorithms: HostKeyAlgorithms, when the user chose them.
        ciphers: Ciphers, when the user chose them.
        ignored: Words for this host that the library does not know.
        paths: The files that were read.
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
    ignored: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def address(self) -> str:
        """It for people: `user@host:port`."""
        return f"{self.user}@{self.host}:{self.port}"

    def advice(self) -> str | None:
        """Return what to know of the ignored words; None where there is none."""
        if not self.ignored:
            return None
        words = ", ".join(shown(word, 40) for word in self.ignored)
        return (
            f"ssh_config's {words} for {self.name} can't be honoured here; where that matters, "
            f'use link = "command" with command = ["ssh", "{self.name}"]'
        )


class _Noting(dict[str, Any]):
    """Handlers of ssh_config words that note a word without one."""

    def __init__(self, handlers: dict[str, Any], noted: list[str]) -> None:
        super().__init__(handlers)
        self._noted = noted

    def __missing__(self, word: str) -> Any:
        if word not in _HARMLESS and word not in self._noted:
            self._noted.append(word)
        raise KeyError(word)


def config_paths() -> tuple[str, ...]:
    """Return the ssh_config files that are there, the user's first."""
    user = Path("~", ".ssh", "config").expanduser()
    return tuple(str(path) for path in (user, SYSTEM) if os.access(path, os.R_OK))


def resolved(machine: MachineConfig) -> SshHost:
    """Return how `machine` is reached. Blocks: it reads files and may run a `Match exec`.

    Raises:
        LinkRefused: ssh_config can't be read, or holds what can't be carried out.
    """
    name = machine.host or machine.name
    paths = config_paths()
    noted: list[str] = []
    handlers = cast("dict[str, Any]", SSHClientConfig._handlers)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
    reader = type("Reader", (SSHClientConfig,), {"_handlers": _Noting(handlers, noted)})
    user: Any = machine.user or ()
    port: Any = machine.port or ()
    try:
        config = cast("type[SSHClientConfig]", reader).load(
            None, paths, False, False, False, _local_user(), user, name, port
        )
    except (asyncssh.ConfigParseError, OSError, ValueError) as error:
        raise LinkRefused(
            machine.name,
            f"ssh_config can't be used for {machine.name}: {shown(error, 200)}",
            f'mend it, or use link = "command" with command = ["ssh", "{name}"]',
        ) from error
    get = config.get
    host = str(get("Hostname") or name)
    mine = machine.identity
    identities = (mine,) if mine else tuple(cast("list[str]", get("IdentityFile") or ()))
    given = machine.known_hosts
    files = tuple(cast("list[str]", get("UserKnownHostsFile") or ("~/.ssh/known_hosts",)))
    system = tuple(cast("list[str]", get("GlobalKnownHostsFile") or ("/etc/ssh/ssh_known_hosts",)))
    return SshHost(
        name=name,
        host=host,
        user=machine.user or str(get("User") or _local_user()),
        port=machine.port or cast("int", get("Port") or 22),
        alias=str(get("HostKeyAlias") or host),
        identities=identities,
        identities_only=bool(get("IdentitiesOnly")) or mine is not None,
        known_hosts=(given,) if given else (*files, *system),
        algorithms=cast("str | None", get("HostKeyAlgorithms")),
        ciphers=cast("str | None", get("Ciphers")),
        ignored=tuple(noted),
        paths=paths,
    )


def _local_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
