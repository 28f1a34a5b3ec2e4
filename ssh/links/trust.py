"""Host keys: which are known, what an unknown one means, and where an accepted one is written.

Evalroom writes one file of its own (0600) and reads the user's. It is as strict as
`StrictHostKeyChecking ask`, and nothing switches that off.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh
from asyncssh.known_hosts import SSHKnownHosts
from asyncssh.public_key import get_default_certificate_algs, get_default_public_key_algs

from core.errors import LinkRefused, MachineError, NeedsTrust
from core.ids import MachineName

DEFAULT_PORT = 22

Keys = tuple[list[asyncssh.SSHKey], list[asyncssh.SSHKey], list[asyncssh.SSHKey]]
"""Trusted, trusted authorities, revoked."""


@dataclass(frozen=True, slots=True)
class KnownLine:
    """One line of a known_hosts file that can be read."""

    path: str
    number: int
    entry: SSHKnownHosts


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """What the known_hosts files say."""

    lines: tuple[KnownLine, ...]

    def match(self, host: str, _addr: str, port: int | None) -> Keys:
        """Return the keys for a host, as asyncssh asks for them.

        As with ssh, a key that is known for the host without its port is accepted too.
        """
        trusted, authorities, revoked = self._found(_named(host, port))
        if port not in {None, DEFAULT_PORT}:
            for more, into in zip(self._found(host), (trusted, authorities, revoked), strict=True):
                into.extend(key for key in more if key not in into)
        return [key for key in trusted if key not in revoked], authorities, revoked

    def known_for(self, host: str, port: int | None) -> list[tuple[asyncssh.SSHKey, KnownLine]]:
        """Return the plain keys for exactly this host and port, and where they stand."""
        name = _named(host, port)
        return [(key, line) for line in self.lines for key in _keys(line.entry, name)[0]]

    def algorithms(self, host: str, port: int | None) -> list[str]:
        """Return all host key algorithms, those of known keys first, as ssh orders them.

        So a host with several keys shows the one that is known, and a changed one is seen.
        """
        trusted, authorities, _ = self.match(host, "", port)
        first = [alg.decode() for key in trusted for alg in key.sig_algorithms]
        usual = [alg.decode() for alg in get_default_public_key_algs()]
        certified = [alg.decode() for alg in get_default_certificate_algs()]
        ordered = [*certified, *first, *usual] if authorities else [*first, *usual, *certified]
        return list(dict.fromkeys(ordered))

    def _found(self, name: str) -> Keys:
        found: Keys = ([], [], [])
        for line in self.lines:
            for more, into in zip(_keys(line.entry, name), found, strict=True):
                into.extend(more)
        return found


def _named(host: str, port: int | None) -> str:
    return host if port in {None, DEFAULT_PORT} else f"[{host}]:{port}"


def _keys(entry: SSHKnownHosts, name: str) -> Keys:
    found = entry.match(name, "", None)
    return list(found[0]), list(found[1]), list(found[2])


def read_known(
    machine: MachineName, own: Path, files: Iterable[str], *, must_exist: bool
) -> KnownKeys:
    """Return what evalroom's `own` file and the user's `files` say.

    A line that can't be read is passed over, as ssh does.

    Raises:
        LinkRefused: A file that the config names (`must_exist`) can't be read.
    """
    lines: list[KnownLine] = []
    for path in (own, *(Path(file).expanduser() for file in files)):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            if must_exist and path != own:
                raise LinkRefused(
                    machine,
                    f"{path} can't be read: {error.strerror}",
                    f"look at `known_hosts` of {machine} in the config",
                ) from error
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                lines.append(KnownLine(str(path), number, SSHKnownHosts(line)))
            except (ValueError, asyncssh.KeyImportError):
                continue
    return KnownKeys(tuple(lines))


def verdict(
    machine: MachineName, known: KnownKeys, host: str, port: int, key: asyncssh.SSHKey
) -> MachineError:
    """Return what it means that `key` is none of the trusted ones.

    Args:
        machine: For messages.
        known: What the files say.
        host: As known_hosts calls it.
        port: Of that handshake.
        key: What the host showed in it.
    """
    fingerprint = key.get_fingerprint()
    _, _, revoked = known.match(host, "", port)
    if key in revoked:
        return revoked_error(machine, [key])
    others = known.known_for(host, port)
    if others:
        was = ", ".join(
            f"{other.get_fingerprint()} ({line.path} line {line.number})" for other, line in others
        )
        return LinkRefused(
            machine,
            f"REMOTE HOST IDENTIFICATION HAS CHANGED: {machine} shows {fingerprint}, "
            f"known is {was}",
            "somebody may be listening, or the machine was set up anew: ask its owner, "
            f"then mend that line by hand (ssh-keygen -R '{_named(host, port)}')",
        )
    public = key.export_public_key("openssh").decode().split()
    return NeedsTrust(machine, fingerprint, f"{_named(host, port)} {public[0]} {public[1]}")


def revoked_error(machine: MachineName, keys: Sequence[asyncssh.SSHKey]) -> LinkRefused:
    """Return the error for a host that shows a revoked key, one of `keys`."""
    marks = " or ".join(key.get_fingerprint() for key in keys)
    return LinkRefused(
        machine,
        f"the host key of {machine} is revoked ({marks}), it must not be trusted",
        "ask the machine's owner; a @revoked line in known_hosts says so",
    )


def remember(own: Path, line: str) -> None:
    """Append `line` to evalroom's own file; it is 0600 in a 0700 folder, and on disk after.

    Raises:
        OSError: It can't be written.
    """
    own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(own, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "r+b") as file:
        os.fchmod(file.fileno(), 0o600)
        held = file.read()
        if line.encode() in held.splitlines():
            return
        start = b"" if not held or held.endswith(b"\n") else b"\n"
        file.write(start + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
