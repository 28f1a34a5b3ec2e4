"""Authentication for asyncssh: keys, the agent, and the operator's answers (in memory only)."""

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

DEFAULT_KEY_NAMES = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")


@dataclass(slots=True)
class Credentials:
    """What the operator typed to sign in to one machine; never written to disk."""

    passphrases: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    password: str | None = field(default=None, repr=False)

    def forget(self) -> None:
        """Drop all values, after a failed login."""
        self.passphrases.clear()
        self.password = None


@dataclass(frozen=True, slots=True)
class LoadedKeys:
    """The keys of a machine.

    Attributes:
        pairs: Keys to offer.
        locked: Paths of encrypted keys for which no passphrase was given.
        public: The public keys beside all key files, for picking keys of the agent.
    """

    pairs: tuple[asyncssh.SSHKeyPair, ...]
    locked: tuple[str, ...]
    public: tuple[bytes, ...]


async def load_keys(
    machine: MachineName, host: SshHost, credentials: Credentials, ask: Ask | None
) -> LoadedKeys:
    """Return the keys of `host`; asks for passphrases where `ask` is given.

    Raises:
        LinkRefused: A key file named in the config or ssh_config can't be read or used.
        NeedsYou: A passphrase is wrong.
    """
    named = bool(host.identities)
    paths = host.identities or tuple(f"~/.ssh/{name}" for name in DEFAULT_KEY_NAMES)
    pairs: list[asyncssh.SSHKeyPair] = []
    locked: list[str] = []
    public: list[bytes] = []
    for name in paths:
        path = Path(os.path.expanduser(name))  # noqa: ASYNC240, PTH111 - no disk access
        public += await asyncio.to_thread(_public, path)
        try:
            pairs += await _load(path, credentials, ask)
        except OSError as error:
            if named and not public:
                raise LinkRefused(
                    machine,
                    f"can't read the key {path}: {error.strerror}",
                    f"check `identity` of {machine} in the config, or IdentityFile in ssh_config",
                ) from error
        except _PassphraseMissing:
            locked.append(str(path))
        except asyncssh.KeyEncryptionError as error:
            credentials.forget()
            raise NeedsYou(
                machine,
                f"wrong passphrase for {path}: {shown(error, 200)}",
                "press r to try again",
            ) from error
        except asyncssh.KeyImportError as error:
            if named:
                raise LinkRefused(
                    machine,
                    f"can't use the key {path}: {shown(error, 200)}",
                    f'set link = "command" and command = ["ssh", "{host.name}"]',
                ) from error
    return LoadedKeys(tuple(pairs), tuple(locked), tuple(public))


class _PassphraseMissing(Exception):
    """The key is encrypted, and no passphrase was given."""


async def _load(
    path: Path, credentials: Credentials, ask: Ask | None
) -> Sequence[asyncssh.SSHKeyPair]:
    passphrase = credentials.passphrases.get(str(path))
    try:
        return await asyncio.to_thread(asyncssh.load_keypairs, [path], passphrase)
    except asyncssh.KeyImportError as error:
        if not str(error).startswith("Passphrase"):
            raise
    answer = await ask(f"Passphrase for {path}", False) if ask is not None else None
    if answer is None:
        raise _PassphraseMissing
    credentials.passphrases[str(path)] = answer
    return await asyncio.to_thread(asyncssh.load_keypairs, [path], answer)


def _public(path: Path) -> list[bytes]:
    with contextlib.suppress(OSError, asyncssh.KeyImportError):
        return [asyncssh.read_public_key(f"{path}.pub").public_data]
    return []


def agent_path() -> str | None:
    """Return the socket of the ssh agent; None: no agent is running."""
    path = os.environ.get("SSH_AUTH_SOCK")
    return path if path and Path(path).is_socket() else None


class AuthClient(asyncssh.SSHClient):
    """asyncssh's callbacks during the login: answers with what the operator typed."""

    def __init__(self, host: SshHost, credentials: Credentials, ask: Ask | None) -> None:
        self._host = host
        self._credentials = credentials
        self._ask = ask
        self._password_tried = False
        self.asked = False
        """Whether the server asked for a password or another answer of the operator."""

    async def password_auth_requested(self) -> str | None:
        """See asyncssh. Tries one password once per login."""
        self.asked = True
        if self._password_tried:
            self._credentials.forget()
            return None
        if self._credentials.password is None and self._ask is not None:
            self._credentials.password = await self._ask(
                f"Password for {self._host.address}", False
            )
        self._password_tried = self._credentials.password is not None
        return self._credentials.password

    def kbdint_auth_requested(self) -> str | None:
        """See asyncssh. Accepts only if the operator can be asked."""
        self.asked = True
        return "" if self._ask is not None else None

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        """See asyncssh. Answers are used once and not kept."""
        del name, lang
        answers: list[str] = []
        for prompt, echo in prompts:
            text = shown(f"{instructions} {prompt}".strip(), 300)
            answer = await self._ask(text, echo) if self._ask is not None else None
            if answer is None:
                return None
            answers.append(answer)
        return answers
