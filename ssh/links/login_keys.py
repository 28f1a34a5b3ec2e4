"""The keys that a login offers: those of the agent and of key files, in ssh's order."""

import asyncio
import contextlib
import copy
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import asyncssh

from core.config.model import MachineConfig
from core.errors import LinkRefused, NeedsYou
from core.model.question import Question
from core.ports import Ask
from core.text import shown
from ssh.links.agent import ANSWER_TIMEOUT_S, AgentState
from ssh.links.asyncssh_auth import Credentials
from ssh.links.config_options import IDENTITY_FILES
from ssh.links.errors import use_command
from ssh.links.resolved_host import ResolvedHost
from ssh.links.ssh_config import ssh_words

_DEFAULT_NAMES = frozenset(name.rpartition("/")[2] for name in IDENTITY_FILES)


@dataclass(frozen=True, slots=True)
class LoadedKeys:
    """The keys of a host.

    Attributes:
        pairs: Keys to offer, in ssh's order.
        locked: Paths of encrypted keys for which no passphrase was given.
        missing: Paths of named keys that do not exist.
        unusable: Keys that can't be read, each with the reason.
        agent: The agent as it was asked for its keys.
        client: The connection to the agent, which signs; close it after the login.
    """

    pairs: tuple[asyncssh.SSHKeyPair, ...]
    locked: tuple[str, ...]
    missing: tuple[str, ...]
    unusable: tuple[str, ...]
    agent: AgentState
    client: asyncssh.SSHAgentClient | None

    def close(self) -> None:
        """Close the connection to the agent."""
        if self.client is not None:
            self.client.close()

    def hints(self) -> list[str]:
        """Return what may have kept a login from succeeding."""
        hints: list[str] = []
        if self.locked:
            hints.append(f"{', '.join(shown(path) for path in self.locked)} needs a passphrase")
        if self.missing:
            hints.append(f"{', '.join(shown(path) for path in self.missing)} does not exist")
        hints += [shown(each, 200) for each in self.unusable]
        if not self.pairs and not self.locked:
            hints.append("no usable key was found")
        problem = self.agent.problem()
        return [*hints, problem] if problem else hints


async def load_keys(
    machine: MachineConfig,
    host: ResolvedHost,
    agent: AgentState,
    credentials: Credentials,
    ask: Ask | None,
    *,
    must_exist: bool,
) -> LoadedKeys:
    """Return the keys of `host` in the order in which ssh offers them.

    First the agent's keys that ssh_config names, then its other keys, then the key files.
    A key that the agent holds is not read from its file.

    Args:
        machine: The machine that is to be reached, for messages.
        host: The settings of this host on the way to it.
        agent: The agent to use.
        credentials: Passphrases that were typed before.
        ask: Asks for a passphrase; None: nobody can be asked.
        must_exist: Whether evalroom's config names the key, so that a missing one is an error.

    Raises:
        LinkRefused: `must_exist`, and the key file can't be read or used.
        NeedsYou: A passphrase is wrong.
    """
    client, held = await _agent_keys(agent)
    certificates = await asyncio.to_thread(_certificates, host.certificates)
    files = _KeyFiles(machine, certificates, credentials, ask, must_exist=must_exist, held=held)
    for path in host.identities:
        await files.read(Path(path))
    preferred = [pair for pair in held if pair.public_data in files.public]
    others = [pair for pair in held if pair not in preferred and not host.identities_only]
    offered = _with_certificates([*preferred, *others], certificates)
    return LoadedKeys(
        (*offered, *files.pairs),
        tuple(files.locked),
        tuple(files.missing),
        tuple(files.unusable),
        agent,
        client,
    )


@dataclass(slots=True)
class _KeyFiles:
    """Reads the key files of a host one after the other.

    Attributes:
        held: The keys that the agent holds.
        public: The public keys of all files read so far.
    """

    machine: MachineConfig
    certificates: Sequence[asyncssh.SSHCertificate]
    credentials: Credentials
    ask: Ask | None
    _: KW_ONLY
    must_exist: bool
    held: Sequence[asyncssh.SSHKeyPair]
    pairs: list[asyncssh.SSHKeyPair] = field(default_factory=list[asyncssh.SSHKeyPair])
    public: list[bytes] = field(default_factory=list[bytes])
    locked: list[str] = field(default_factory=list[str])
    missing: list[str] = field(default_factory=list[str])
    unusable: list[str] = field(default_factory=list[str])

    async def read(self, path: Path) -> None:
        """Read one key file, unless the agent holds its key.

        Raises:
            LinkRefused, NeedsYou: As `load_keys`.
        """
        public = await asyncio.to_thread(_public, path)
        self.public += public
        if any(pair.public_data in public for pair in self.held):
            return
        try:
            pairs = await _load(path, self.certificates, self.credentials, self.ask)
        except OSError as error:
            self._pass_over(path, error, has_public=bool(public))
        except _PassphraseMissing:
            self.locked.append(str(path))
        except asyncssh.KeyEncryptionError as error:
            self.credentials.forget()
            raise NeedsYou(
                self.machine.name,
                f"wrong passphrase for {path}: {shown(error, 200)}",
                "press r to try again",
            ) from error
        except asyncssh.KeyImportError as error:
            # A file that holds a public key stands for a private key that an agent may hold.
            if self.must_exist and not public:
                raise LinkRefused(
                    self.machine.name,
                    f"can't use the key {path}: {shown(error, 200)}",
                    use_command(ssh_words(self.machine)),
                ) from error
            if not public:
                self.unusable.append(f"can't use {path}: {error}")
        else:
            self.pairs += pairs
            self.public += [pair.key_public_data for pair in pairs]

    def _pass_over(self, path: Path, error: OSError, *, has_public: bool) -> None:
        """Note a file that can't be read; ssh passes it over too."""
        if self.must_exist and not has_public:
            raise LinkRefused(
                self.machine.name,
                f"can't read the key {path}: {error.strerror}",
                f"check `identity` of {self.machine.name} in the config",
            ) from error
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            self.unusable.append(f"can't read {path}: {error.strerror}")
        elif path.name not in _DEFAULT_NAMES and not has_public:
            self.missing.append(str(path))


class _PassphraseMissing(Exception):
    """The key is encrypted, and no passphrase was given."""


async def _agent_keys(
    agent: AgentState,
) -> tuple[asyncssh.SSHAgentClient | None, Sequence[asyncssh.SSHKeyPair]]:
    if not agent.path or not agent.keys:
        return None, ()
    client = asyncssh.SSHAgentClient(agent.path)
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            return client, await client.get_keys()
    except (OSError, ValueError, TimeoutError):
        client.close()
        return None, ()


async def _load(
    path: Path,
    certificates: Sequence[asyncssh.SSHCertificate],
    credentials: Credentials,
    ask: Ask | None,
) -> Sequence[asyncssh.SSHKeyPair]:
    passphrase = credentials.passphrases.get(str(path))
    certs = list(certificates)
    try:
        return await asyncio.to_thread(asyncssh.load_keypairs, [path], passphrase, certs)
    except asyncssh.KeyImportError as error:
        if not str(error).startswith("Passphrase"):
            raise
    text = shown(f"Passphrase for the key {path}; it stays on this computer", 400)
    answer = await ask(Question(text=text)) if ask is not None else None
    if answer is None:
        raise _PassphraseMissing
    credentials.passphrases[str(path)] = answer
    return await asyncio.to_thread(asyncssh.load_keypairs, [path], answer, certs)


def _public(path: Path) -> list[bytes]:
    """Return the public keys that belong to a key file, which may be a public key itself."""
    found: list[bytes] = []
    for each in (f"{path}.pub", str(path)):
        with contextlib.suppress(OSError, asyncssh.KeyImportError):
            found.append(asyncssh.read_public_key(each).public_data)
    with contextlib.suppress(OSError, asyncssh.KeyImportError):
        found.append(asyncssh.read_certificate(f"{path}-cert.pub").public_data)
    return found


def _certificates(paths: Sequence[str]) -> tuple[asyncssh.SSHCertificate, ...]:
    """Return the certificates that can be read; like ssh, pass over the others."""
    found: list[asyncssh.SSHCertificate] = []
    for path in paths:
        with contextlib.suppress(OSError, asyncssh.KeyImportError):
            found.append(asyncssh.read_certificate(path))
    return tuple(found)


def _with_certificates(
    pairs: Sequence[asyncssh.SSHKeyPair], certificates: Sequence[asyncssh.SSHCertificate]
) -> list[asyncssh.SSHKeyPair]:
    """Return the agent's keys, each one after its certificates."""
    offered: list[asyncssh.SSHKeyPair] = []
    for pair in pairs:
        for certificate in certificates:
            if certificate.key.public_data == pair.public_data:
                certified = copy.copy(pair)
                certified.set_certificate(certificate)
                offered.append(certified)
        offered.append(pair)
    return offered
