"""How asyncssh logs in: keys, the agent, and the operator's answers kept in memory only."""

import asyncio
import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from core.errors import LinkRefused, NeedsYou
from core.ids import MachineName
from core.ports import Ask
from core.text import shown
from ssh.links.ssh_config import SshHost

USUAL = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")


@dataclass(slots=True)
class Secrets:
    """What the operator typed for one machine. It is never written anywhere."""

    passphrases: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    password: str | None = field(default=None, repr=False)

    def forget(self) -> None:
        """Drop everything: it was wrong."""
        self.passphrases.clear()
        self.password = None


@dataclass(frozen=True, slots=True)
class KeysFound:
    """Keys to offer, and those that stay closed without a passphrase."""

    pairs: tuple[asyncssh.SSHKeyPair, ...]
    locked: tuple[str, ...]
    public: tuple[bytes, ...]


async def load_keys(
    machine: MachineName, host: SshHost, secrets: Secrets, ask: Ask | None
) -> KeysFound:
    """Return the keys of `host`, asking for passphrases where somebody can be asked.

    Raises:
        LinkRefused: A key file that the config names can't be read.
        NeedsYou: A passphrase is wrong, or was not given.
    """
    named = bool(host.identities)
    paths = host.identities or tuple(f"~/.ssh/{name}" for name in USUAL)
    pairs: list[asyncssh.SSHKeyPair] = []
    locked: list[str] = []
    public: list[bytes] = []
    for name in paths:
        path = Path(os.path.expanduser(name))  # noqa: ASYNC240, PTH111 - reads no disk
        public += await asyncio.to_thread(_public, path)
        try:
            pairs += await _load(path, secrets, ask)
        except OSError as error:
            if named and not public:
                raise LinkRefused(
                    machine,
                    f"the key {path} can't be read: {error.strerror}",
                    f"check `identity` of {machine}, or IdentityFile in ssh_config",
                ) from error
        except _Locked:
            locked.append(str(path))
        except asyncssh.KeyEncryptionError as error:
            secrets.forget()
            raise NeedsYou(
                machine,
                f"that passphrase does not open {path}: {shown(error, 200)}",
                "press r to try again",
            ) from error
        except asyncssh.KeyImportError as error:
            if named:
                raise LinkRefused(
                    machine,
                    f"the key {path} can't be used: {shown(error, 200)}",
                    f'use link = "command" with command = ["ssh", "{host.name}"]',
                ) from error
    return KeysFound(tuple(pairs), tuple(locked), tuple(public))


class _Locked(Exception):
    """An encrypted key, and no passphrase for it."""


async def _load(path: Path, secrets: Secrets, ask: Ask | None) -> Sequence[asyncssh.SSHKeyPair]:
    passphrase = secrets.passphrases.get(str(path))
    try:
        return await asyncio.to_thread(asyncssh.load_keypairs, [path], passphrase)
    except asyncssh.KeyImportError as error:
        if not str(error).startswith("Passphrase"):
            raise
    answer = await ask(f"Passphrase for {path}", False) if ask is not None else None
    if answer is None:
        raise _Locked
    secrets.passphrases[str(path)] = answer
    return await asyncio.to_thread(asyncssh.load_keypairs, [path], answer)


def _public(path: Path) -> list[bytes]:
    with contextlib.suppress(OSError, asyncssh.KeyImportError):
        return [asyncssh.read_public_key(f"{path}.pub").public_data]
    return []


def agent_path() -> str | None:
    """Return the socket of the user's agent; None where there is none."""
    path = os.environ.get("SSH_AUTH_SOCK")
    return path if path and Path(path).is_socket() else None


class Login(asyncssh.SSHClient):
    """Answers what the server asks while logging in."""

    def __init__(self, host: SshHost, secrets: Secrets, ask: Ask | None) -> None:
        self._host = host
        self._secrets = secrets
        self._ask = ask
        self._tried = False
        self.asked = False
        """Whether the server wanted something that only the operator knows."""

    async def password_auth_requested(self) -> str | None:
        """See asyncssh; one password, once."""
        self.asked = True
        if self._tried:
            self._secrets.forget()
            return None
        if self._secrets.password is None and self._ask is not None:
            self._secrets.password = await self._ask(f"Password for {self._host.address}", False)
        self._tried = self._secrets.password is not None
        return self._secrets.password

    def kbdint_auth_requested(self) -> str | None:
        """See asyncssh; only with somebody there to answer."""
        self.asked = True
        return "" if self._ask is not None else None

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        """See asyncssh; answers are for once and are not kept."""
        del name, lang
        answers: list[str] = []
        for prompt, echo in prompts:
            text = shown(f"{instructions} {prompt}".strip(), 300)
            answer = await self._ask(text, echo) if self._ask is not None else None
            if answer is None:
                return None
            answers.append(answer)
        return answers
