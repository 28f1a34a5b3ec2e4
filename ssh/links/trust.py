"""Checks host keys against known_hosts files, and records the keys that the operator accepts.

evalroom writes its own known_hosts file (0600) and only reads the user's. The check is as strict
as `StrictHostKeyChecking ask` and can't be turned off.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh
from asyncssh.known_hosts import SSHKnownHosts
from asyncssh.public_key import get_default_certificate_algs, get_default_public_key_algs

from core.errors import HostKeyRefused, LinkRefused, MachineError, NeedsTrust
from core.ids import MachineName

DEFAULT_PORT = 22

KeyLists = tuple[list[asyncssh.SSHKey], list[asyncssh.SSHKey], list[asyncssh.SSHKey]]
"""(trusted keys, trusted certificate authorities, revoked keys)."""
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class KnownHostsLine:
    """One line of a known_hosts file that parses."""

    path: str
    number: int
    entry: SSHKnownHosts


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """The entries of all known_hosts files."""

    lines: tuple[KnownHostsLine, ...]

    def match(self, host: str, _addr: str, port: int | None) -> KeyLists:
        """Return the keys of a host, in the form that asyncssh's `known_hosts` expects.

        Like ssh, it also accepts a key that is listed for the host without a port.
        """
        trusted, authorities, revoked = self._found(_host_pattern(host, port))
        if port not in {None, DEFAULT_PORT}:
            for more, into in zip(self._found(host), (trusted, authorities, revoked), strict=True):
                into.extend(key for key in more if key not in into)
        return [key for key in trusted if key not in revoked], authorities, revoked

    def trusted_for(
        self, host: str, port: int | None
    ) -> list[tuple[asyncssh.SSHKey, KnownHostsLine]]:
        """Return the trusted keys of exactly this host and port, each with its line."""
        name = _host_pattern(host, port)
        return [(key, line) for line in self.lines for key in _keys(line.entry, name)[0]]

    def algorithms(self, host: str, port: int | None) -> list[str]:
        """Return all host key algorithms in ssh's order: those of known keys first.

        This way a host with several keys sends the known one, so a change is noticed.
        """
        trusted, authorities, _ = self.match(host, "", port)
        first = [alg.decode() for key in trusted for alg in key.sig_algorithms]
        usual = [alg.decode() for alg in get_default_public_key_algs()]
        certified = [alg.decode() for alg in get_default_certificate_algs()]
        ordered = [*certified, *first, *usual] if authorities else [*first, *usual, *certified]
        return list(dict.fromkeys(ordered))

    def _found(self, name: str) -> KeyLists:
        found: KeyLists = ([], [], [])
        for line in self.lines:
            for more, into in zip(_keys(line.entry, name), found, strict=True):
                into.extend(more)
        return found


def _host_pattern(host: str, port: int | None) -> str:
    return host if port in {None, DEFAULT_PORT} else f"[{host}]:{port}"


def _keys(entry: SSHKnownHosts, name: str) -> KeyLists:
    found = entry.match(name, "", None)
    return list(found[0]), list(found[1]), list(found[2])


def read_known_hosts(
    machine: MachineName, own_file: Path, files: Iterable[str], *, must_exist: bool
) -> KnownHosts:
    """Return the entries of evalroom's `own_file` and of the user's `files`.

    Like ssh, it skips lines that do not parse and files that do not exist.

    Args:
        machine: For messages.
        own_file: evalroom's known_hosts file.
        files: The user's known_hosts files.
        must_exist: Whether the config names `files`, so a missing one is an error.

    Raises:
        LinkRefused: `must_exist`, and one of `files` can't be read.
    """
    lines: list[KnownHostsLine] = []
    for path in (own_file, *map(Path, files)):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            if must_exist and path != own_file:
                raise LinkRefused(
                    machine,
                    f"can't read {path}: {error.strerror}",
                    f"check `known_hosts` of {machine} in the config",
                ) from error
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                lines.append(KnownHostsLine(str(path), number, SSHKnownHosts(line)))
            except (ValueError, asyncssh.KeyImportError):
                continue
    return KnownHosts(tuple(lines))


def untrusted_key_error(
    machine: MachineName,
    known: KnownHosts,
    host: str,
    port: int | None,
    key: asyncssh.SSHKey,
    *,
    of: str | None = None,
) -> MachineError:
    """Return the error for a host that sent `key`, which is not one of its trusted keys.

    Args:
        machine: For messages.
        known: The entries of all known_hosts files.
        host: Its name in known_hosts.
        port: Its port in known_hosts; None: it stands there without one.
        key: The key that the host sent in this handshake.
        of: Whose key it is, for messages; None: the machine's.
    """
    fingerprint = key.get_fingerprint()
    _, _, revoked = known.match(host, "", port)
    if key in revoked:
        return revoked_key_error(machine, [key])
    others = known.trusted_for(host, port)
    if others:
        was = ", ".join(
            f"{other.get_fingerprint()} ({line.path} line {line.number})" for other, line in others
        )
        return HostKeyRefused(
            machine,
            f"the host key of {of or machine} has changed: it is now {fingerprint}, "
            f"but known_hosts has {was}",
            "someone may be intercepting the connection, or the machine was reinstalled: ask its "
            f"owner, then remove the old line (ssh-keygen -R '{_host_pattern(host, port)}')",
        )
    public = key.export_public_key("openssh").decode().split()
    line = f"{_host_pattern(host, port)} {public[0]} {public[1]}"
    return NeedsTrust(machine, fingerprint, line, of=of)


def strictly_refused_key_error(error: NeedsTrust) -> HostKeyRefused:
    """Return the error for an unknown key where ssh_config has `StrictHostKeyChecking yes`."""
    return HostKeyRefused(
        error.machine,
        f"{error.message}, and ssh_config has StrictHostKeyChecking yes",
        f"check the key, then add this line to your known_hosts: {error.known_hosts_line}",
    )


def revoked_key_error(machine: MachineName, keys: Sequence[asyncssh.SSHKey]) -> HostKeyRefused:
    """Return the error for a host that sent a revoked key, one of `keys`."""
    fingerprints = " or ".join(key.get_fingerprint() for key in keys)
    return HostKeyRefused(
        machine,
        f"the host key of {machine} is revoked ({fingerprints}) by a @revoked line in known_hosts",
        "do not trust this key; ask the machine's owner for the new one",
    )


def add_known_host(own_file: Path, line: str) -> None:
    """Append `line` to evalroom's known_hosts file and flush it to disk.

    Creates the file (0600) and its folder (0700) where they are missing; a line that is already
    there is not added twice.

    Raises:
        OSError: The file can't be written.
    """
    own_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(own_file, _FLAGS, 0o600)
    with os.fdopen(handle, "r+b") as file:
        os.fchmod(file.fileno(), 0o600)
        held = file.read()
        if line.encode() in held.splitlines():
            return
        start = b"" if not held or held.endswith(b"\n") else b"\n"
        file.write(start + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
