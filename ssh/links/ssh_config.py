"""Finds out how ssh would connect to a machine: `ssh -G` is the truth wherever an ssh is installed.

Jump hosts are resolved the same way, so that asyncssh gets values and never reads a config file.
"""

import asyncio
import contextlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.config.model import MachineConfig
from core.errors import LinkLost, LinkRefused
from core.ids import MachineName
from core.quoting import ssh_config_word
from core.text import shown
from ssh.links.config_lines import ConfigProblem
from ssh.links.config_options import DEFAULTS
from ssh.links.config_parser import Destination, Options, parse_config
from ssh.links.config_tokens import LocalAccount
from ssh.links.errors import use_command
from ssh.links.resolved_host import (
    Algorithms,
    ResolvedHost,
    algorithms_of,
    has_file_lists,
    needs_digest,
    resolved_host,
)
from ssh.links.ssh_query import QUERY_TIMEOUT_S, NoSshToAsk, SshRejected, ask_ssh

MAX_JUMPS = 8
"""More jump hosts than this are a loop."""

_REFUSED_OPTIONS = {
    "bindinterface": "BindInterface",
    "proxyusefdpass": "ProxyUseFdpass",
    "requiredrsasize": "RequiredRSASize",
    "revokedhostkeys": "RevokedHostKeys",
}
"""Options that asyncssh can't follow, and without which another way is taken or less is checked."""
_IGNORED_OPTIONS = {
    "controlmaster": "ControlMaster",
    "controlpath": "ControlPath",
    "hostbasedauthentication": "HostbasedAuthentication",
    "knownhostscommand": "KnownHostsCommand",
    "localcommand": "LocalCommand",
    "pkcs11provider": "PKCS11Provider",
    "securitykeyprovider": "SecurityKeyProvider",
    "verifyhostkeydns": "VerifyHostKeyDNS",
}
"""Options that asyncssh does not follow; the machine is the same without them."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One host on the way to a machine, or the machine itself.

    Attributes:
        host: How to connect to it.
        algorithms: The algorithms that ssh_config sets.
        ignored: Options that are set for it, and that evalroom ignores.
    """

    host: ResolvedHost
    algorithms: Algorithms
    ignored: tuple[str, ...]

    def advice(self, machine: MachineConfig) -> str | None:
        """Return a warning about the ignored options of `machine`; None if none is ignored."""
        if not self.ignored:
            return None
        return (
            f"evalroom ignores {', '.join(self.ignored)} of {self.host.name} in ssh_config. "
            f"If you need it, {use_command(ssh_words(machine))}"
        )


@dataclass(frozen=True, slots=True)
class _Answer:
    """The options of one destination.

    Attributes:
        defaults: The options that this ssh uses where no file sets any.
        is_of_ssh: Whether ssh itself gave them.
        digest: The value of `%C` if a value needs it.
    """

    options: Options
    defaults: Options
    is_of_ssh: bool
    digest: str | None = None


_defaults: dict[tuple[str, int], Options] = {}
"""The defaults of the installed ssh, by its path and its time: an upgrade may change them."""


async def resolve_route(machine: MachineConfig) -> tuple[Hop, ...]:
    """Return the hosts on the way to `machine`: its jump hosts in order, and itself last.

    Runs `ssh -G`, once for each host.

    Raises:
        LinkRefused: ssh_config can't be read, or an option can't be followed.
        LinkLost: `ssh -G` did not answer in time.
    """
    destination = Destination(
        name=machine.host or machine.name,
        user=machine.user,
        port=machine.port,
        file=machine.ssh_config,
    )
    try:
        *jumps, target = await _hops(machine, destination, depth=0)
    except SshRejected as error:
        if error.may_pass:
            raise LinkLost(machine.name, f"ssh -G: {shown(error, 300)}") from error
        raise LinkRefused(
            machine.name,
            f"ssh can't use its config for {machine.name}: {shown(error, 300)}",
            "correct it, then press r",
        ) from error
    except ConfigProblem as error:
        raise LinkRefused(
            machine.name,
            f"can't follow ssh_config for {machine.name}: {shown(error, 300)}",
            f"correct it, or {use_command(ssh_words(machine))}",
        ) from error
    except TimeoutError as error:
        raise LinkLost(
            machine.name,
            f"ssh -G did not answer for {machine.name} within {QUERY_TIMEOUT_S:.0f} s",
            "check the programs of Match exec in ssh_config, and the DNS for canonical names",
        ) from error
    return (*jumps, replace(target, host=_with_own_settings(target.host, machine)))


def ssh_words(machine: MachineConfig) -> tuple[str, ...]:
    """Return the ssh command that reaches the same machine with the same user, port and key."""
    known_hosts = machine.known_hosts
    if known_hosts and re.search(r"[\s\"'\\]", known_hosts):
        known_hosts = ssh_config_word(known_hosts)
    return (
        "ssh",
        *(("-F", machine.ssh_config) if machine.ssh_config else ()),
        *(("-l", machine.user) if machine.user else ()),
        *(("-p", str(machine.port)) if machine.port else ()),
        *(("-i", machine.identity) if machine.identity else ()),
        *(("-o", f"UserKnownHostsFile={known_hosts}") if known_hosts else ()),
        machine.host or machine.name,
    )


def _with_own_settings(host: ResolvedHost, machine: MachineConfig) -> ResolvedHost:
    """Return `host` with the values that evalroom's config sets."""
    if machine.identity:
        host = replace(host, identities=(machine.identity,), identities_only=True)
    if machine.known_hosts:
        host = replace(host, known_hosts=(machine.known_hosts,))
    return host


async def _hops(machine: MachineConfig, destination: Destination, *, depth: int) -> Sequence[Hop]:
    if depth > MAX_JUMPS:
        raise ConfigProblem(f"ProxyJump of {destination.name} leads in a circle")
    account = LocalAccount.current()
    answer = await _ask(destination, account)
    host = resolved_host(
        destination.without_syntax().name,
        answer.options,
        account,
        digest=answer.digest,
        is_expanded=answer.is_of_ssh,
        own_reading=await _own_reading(destination, account, answer),
    )
    await _refuse_unfollowed(machine, destination, account, answer)
    hop = Hop(
        host=host,
        algorithms=algorithms_of(answer.options, answer.defaults),
        ignored=_set_options(answer, _IGNORED_OPTIONS),
    )
    if host.jump is None:
        return (hop,)
    before, _, last = host.jump.rpartition(",")
    jump = replace(jump_destination(last), file=destination.file, jump=before or None)
    return (*await _hops(machine, jump, depth=depth + 1), hop)


def jump_destination(text: str) -> Destination:
    """Return the destination of one host of ProxyJump: `user@host:port`, or a URI."""
    text = text.strip()
    if text.startswith("ssh://"):
        return Destination(name=text).without_syntax()
    user, at, place = text.rpartition("@")
    host, colon, port = place.rpartition(":")
    is_whole = not colon or not port.isdecimal() or (":" in host and not host.startswith("["))
    host = place if is_whole else host
    return Destination(
        name=host.removeprefix("[").removesuffix("]"),
        user=user if at else None,
        port=None if is_whole else int(port),
    )


async def _ask(destination: Destination, account: LocalAccount) -> _Answer:
    words = _query_words(destination)
    try:
        defaults = await _ssh_defaults()
        options = await ask_ssh(words)
        digest = None
        if needs_digest(options):
            expanded = await ask_ssh(("-o", "ControlPath=%C", *words))
            digest = expanded.get("controlpath", (None,))[0]
    except NoSshToAsk:
        parsed = await asyncio.to_thread(parse_config, destination, account)
        return _Answer(parsed.options, DEFAULTS, is_of_ssh=False)
    return _Answer(options, defaults, is_of_ssh=True, digest=digest)


async def _own_reading(
    destination: Destination, account: LocalAccount, answer: _Answer
) -> Options | None:
    """Return what evalroom itself reads, if ssh's answer needs it; None: it does not, or can't."""
    if not answer.is_of_ssh or not has_file_lists(answer.options, answer.defaults):
        return None
    with contextlib.suppress(ConfigProblem, OSError):
        return (await asyncio.to_thread(parse_config, destination, account)).options
    return None


async def _ssh_defaults() -> Options:
    path = shutil.which("ssh")
    if path is None:
        raise NoSshToAsk("no ssh is installed")
    key = path, Path(path).stat().st_mtime_ns  # noqa: ASYNC240 - one look at a program's entry
    if key not in _defaults:
        _defaults[key] = await ask_ssh(("-F", "none", "--", "no-host"))
    return _defaults[key]


def _query_words(destination: Destination) -> tuple[str, ...]:
    return (
        *(("-F", destination.file) if destination.file else ()),
        *(("-l", destination.user) if destination.user else ()),
        *(("-p", str(destination.port)) if destination.port else ()),
        *(("-J", destination.jump) if destination.jump else ()),
        "--",
        destination.name,
    )


def _set_options(answer: _Answer, names: dict[str, str]) -> tuple[str, ...]:
    """Return those of `names` that are not at ssh's default, in the usual spelling."""
    none = (("none",), ("no",), ("false",), ("internal",))
    options = answer.options
    return tuple(
        written
        for name, written in names.items()
        if options.get(name, none[0]) not in {*none, answer.defaults.get(name)}
    )


async def _refuse_unfollowed(
    machine: MachineConfig, destination: Destination, account: LocalAccount, answer: _Answer
) -> None:
    refused = _set_options(answer, _REFUSED_OPTIONS)
    if not refused:
        return
    try:
        places = (await asyncio.to_thread(parse_config, destination, account)).places
    except (ConfigProblem, OSError):
        places = {}
    named = [
        f"{option} ({places[option.lower()]})" if option.lower() in places else option
        for option in refused
    ]
    raise LinkRefused(
        MachineName(machine.name),
        f"evalroom can't follow {', '.join(shown(each) for each in named)} of ssh_config "
        f"for {machine.name}",
        use_command(ssh_words(machine)),
    )
