"""Logs in to one host on the way to a machine, over asyncssh."""

import asyncio
import contextlib
from dataclasses import dataclass, replace
from pathlib import Path

import asyncssh

from core.config.model import MachineConfig
from core.errors import HostKeyRefused, LinkLost, LinkRefused, MachineError, NeedsTrust, NeedsYou
from core.ids import MachineName
from core.ports import Ask
from core.text import shown
from ssh.links.agent import AgentWatch, environment_with
from ssh.links.asyncssh_auth import AuthClient, Credentials
from ssh.links.asyncssh_options import connect_timeout, connection_options
from ssh.links.errors import as_machine_errors, use_command
from ssh.links.login_keys import LoadedKeys, load_keys
from ssh.links.proxy_command import ProxyProcess
from ssh.links.ssh_config import Hop, ssh_words
from ssh.links.trust import (
    KnownHosts,
    read_known_hosts,
    revoked_key_error,
    strictly_refused_key_error,
    untrusted_key_error,
)

LOGIN_TIMEOUT_S = 15.0
"""Timeout of key exchange and login without the operator, seconds."""
INTERACTIVE_LOGIN_TIMEOUT_S = 110.0
"""The same while the operator types a password, seconds; sshd allows 120."""
CLOSE_TIMEOUT_S = 2.0
"""Timeout of a clean close, of a channel or of the connection, seconds."""
_AGENT_ADVICE = (
    "add the key to your ssh agent: evalroom then tries again by itself. Or press r to enter a "
    "passphrase or a password"
)


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection to one host, logged in.

    Attributes:
        connection: The connection.
        proxy: The ProxyCommand that it goes through; None: no command.
        undo: What else is closed after it; None: nothing.
    """

    connection: asyncssh.SSHClientConnection
    proxy: ProxyProcess | None
    undo: contextlib.AsyncExitStack | None = None

    async def close(self) -> None:
        """Close the connection, and what it goes through. Bounded in time; never raises."""
        await _close(self.connection)
        if self.proxy is not None:
            await self.proxy.close()
        if self.undo is not None:
            await self.undo.aclose()


async def _close(connection: asyncssh.SSHClientConnection) -> None:
    connection.close()
    with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await connection.wait_closed()
            return
    connection.abort()


@dataclass(slots=True)
class HopLogin:
    """One login to one host on the way to a machine.

    Attributes:
        machine: The machine that is to be reached.
        hop: The host.
        is_target: Whether it is the machine itself, not a jump host before it.
        own_known_hosts: evalroom's own file of accepted host keys.
        credentials: What the operator typed for this host.
        ask: Asks the operator; None: nobody can be asked.
        agent: The ssh agent of this machine's logins.
    """

    machine: MachineConfig
    hop: Hop
    is_target: bool
    own_known_hosts: Path
    credentials: Credentials
    ask: Ask | None
    agent: AgentWatch
    _key_error: MachineError | None = None

    async def connect(self, before: "asyncssh.SSHClientConnection | None") -> Connected:
        """Connect to the host, over the connection to the host `before` it, and log in.

        Raises:
            MachineError: It can't be reached, or the login failed.
        """
        if self.is_target:
            return await self._connect(before)
        try:
            return await self._connect(before)
        except MachineError as error:
            raise self._of_jump_host(error) from error.__cause__

    async def _connect(self, before: "asyncssh.SSHClientConnection | None") -> Connected:
        host = self.hop.host
        machine = self.machine.name if self.is_target else MachineName("it")
        known = await asyncio.to_thread(
            read_known_hosts,
            self.machine.name,
            self.own_known_hosts,
            host.known_hosts,
            must_exist=self.is_target and self.machine.known_hosts is not None,
        )
        agent = await self.agent.query(host.agent)
        keys = await load_keys(
            self.machine,
            host,
            agent,
            self.credentials,
            self.ask,
            must_exist=self.is_target and self.machine.identity is not None,
        )
        timeout = INTERACTIVE_LOGIN_TIMEOUT_S if self.ask is not None else LOGIN_TIMEOUT_S
        proxy: ProxyProcess | None = None
        with contextlib.closing(keys):
            try:
                options = connection_options(
                    replace(self.machine, name=machine),
                    self.hop,
                    known,
                    keys,
                    lambda: _LoginClient(self, known),
                )
                with as_machine_errors(machine, ssh_words(self.machine)):
                    if host.proxy_command is not None:
                        environment = environment_with(agent)
                        proxy = await ProxyProcess.start(host.proxy_command, environment)
                        options["sock"] = proxy.socket
                    elif before is not None:
                        options["tunnel"] = before
                    async with asyncio.timeout(connect_timeout(self.hop) + timeout + 5.0):
                        connection = await asyncssh.connect(**options, login_timeout=timeout)
                    connected, proxy = Connected(connection, proxy), None
                    return connected
            except MachineError as error:
                cause = error.__cause__
                if isinstance(cause, asyncssh.HostKeyNotVerifiable):
                    raise self._host_key_error(known, error) from cause
                if isinstance(error, NeedsYou):
                    raise self._with_hints(keys, error) from cause
                raise await self._with_proxy(proxy, error) from cause
            finally:
                if proxy is not None:
                    await proxy.close()

    def note_untrusted_key(self, known: KnownHosts, key: asyncssh.SSHKey) -> None:
        """Record the error for a `key` of this handshake that is not trusted."""
        host = self.hop.host
        place = self.machine.name if self.is_target else f"the jump host {shown(host.host, 80)}"
        error = untrusted_key_error(self.machine.name, known, *host.known_as, key, of=place)
        if isinstance(error, NeedsTrust) and host.strict_host_key_checking == "true":
            error = strictly_refused_key_error(error)
        self._key_error = error

    def _of_jump_host(self, error: MachineError) -> MachineError:
        """Return `error` as one about a jump host; it says "it" for that host."""
        if isinstance(error, (NeedsTrust, HostKeyRefused)):
            return error
        name = shown(self.hop.host.name, 80)
        error.machine = self.machine.name
        error.message = f"the jump host {name} can't be reached: {error.message}"
        if isinstance(error, LinkRefused):
            error.advice = f"if plain `ssh` can connect, {use_command(ssh_words(self.machine))}"
        elif isinstance(error, LinkLost) and "ProxyCommand" not in error.advice:
            error.advice = f"check that {name} is up, and its HostName and Port in ssh_config"
        elif "`identity`" in error.advice:
            error.advice = f"set IdentityFile of {name} in ssh_config to the right key"
        return error

    def _host_key_error(self, known: KnownHosts, error: MachineError) -> MachineError:
        if self._key_error is not None:
            return self._key_error
        host = self.hop.host
        revoked = known.match(host.known_as[0], "", host.known_as[1])[2]
        if "revoked" in error.message and revoked:
            return revoked_key_error(self.machine.name, revoked)
        return HostKeyRefused(
            self.machine.name,
            f"{error.message} (the key of {host.host}, or its certificate)",
            f"run `ssh {host.name}` once in a terminal to see which key fails",
        )

    def _with_hints(self, keys: LoadedKeys, error: NeedsYou) -> NeedsYou:
        self.credentials.forget()
        hints = keys.hints()
        if not self.is_target:
            hints.insert(0, f"as {shown(self.hop.host.address, 120)}")
        if not hints:
            return error
        advice = error.advice if keys.agent.problem() is None else _AGENT_ADVICE
        return NeedsYou(error.machine, f"{error.message} ({'; '.join(hints)})", advice)

    async def _with_proxy(self, proxy: ProxyProcess | None, error: MachineError) -> MachineError:
        """Add the words of the ProxyCommand to the reason, where it failed."""
        more = None
        if proxy is not None and isinstance(error, LinkLost):
            more = await proxy.failure()
        if more is not None:
            error.advice = f"check ProxyCommand of {shown(self.hop.host.name, 80)} in ssh_config"
            error.message = f"{error.message} ({more})"
        return error


class _LoginClient(AuthClient):
    def __init__(self, login: HopLogin, known: KnownHosts) -> None:
        super().__init__(login.hop.host, login.credentials, login.ask)
        self._login = login
        self._known = known

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        del host, addr, port
        self._login.note_untrusted_key(self._known, key)
        return False
