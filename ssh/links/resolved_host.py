"""What ssh_config says about one host: the values that a connection needs, all expanded."""

import contextlib
import os
import socket
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.text import shown
from ssh.links.config_lines import ConfigProblem
from ssh.links.config_parser import Options
from ssh.links.config_tokens import LocalAccount, expand_home, expand_tokens, local_tokens

_FAMILIES = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}
_DIGITS = 9
_OFF = frozenset({"no", "false"})
AGENT_VARIABLE = "SSH_AUTH_SOCK"


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithms:
    """The algorithms that ssh_config sets, as lists with commas; None: not set."""

    ciphers: str | None = None
    macs: str | None = None
    key_exchange: str | None = None
    host_keys: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedHost:
    """The connection settings of one host.

    Attributes:
        name: The name as given to ssh.
        host: The host name to connect to.
        alias: HostKeyAlias: the name in known_hosts; None: the host's own.
        identities: Key files in order; files that do not exist are among them.
        certificates: Certificate files in order.
        identities_only: Whether only `identities` may be offered, of the agent's keys too.
        agent: IdentityAgent: a socket's path, `none`, `$NAME` or `SSH_AUTH_SOCK`; None: not set.
        jump: The hosts of ProxyJump as written, `user@host:port,...`; None: no jump.
        proxy_command: ProxyCommand with its tokens expanded, for a shell; None: no command.
        connect_timeout: ConnectTimeout, seconds; None: not set.
        alive_interval: ServerAliveInterval, seconds; 0: not set.
        known_hosts: The user's and the system's files of host keys.
        strict_host_key_checking: As ssh prints it; `true`: an unknown key is refused. evalroom
            never checks less than `ask`.
        family: The address family; `AF_UNSPEC`: any.
        bind_address: The local address to connect from; None: any.
        methods: PreferredAuthentications; None: not set.
        environment: SetEnv.
        sent_variables: SendEnv: patterns of names.
    """

    name: str
    host: str
    user: str
    port: int
    alias: str | None
    identities: tuple[str, ...]
    certificates: tuple[str, ...]
    identities_only: bool
    agent: str | None
    jump: str | None
    proxy_command: str | None
    connect_timeout: float | None
    alive_interval: int
    alive_count_max: int
    known_hosts: tuple[str, ...]
    strict_host_key_checking: str
    family: socket.AddressFamily
    bind_address: str | None
    compression: bool
    tcp_keepalive: bool
    methods: tuple[str, ...] | None
    public_key_login: bool
    password_login: bool
    question_login: bool
    environment: tuple[str, ...]
    sent_variables: tuple[str, ...]

    @property
    def address(self) -> str:
        """`user@host:port`, for messages."""
        return f"{self.user}@{self.host}:{self.port}"

    @property
    def known_as(self) -> tuple[str, int | None]:
        """The name and the port to look up in known_hosts; an alias stands there without one."""
        return (self.alias, None) if self.alias else (self.host, self.port)


def resolved_host(
    name: str,
    options: Options,
    account: LocalAccount,
    *,
    digest: str | None = None,
    is_expanded: bool,
    own_reading: Options | None = None,
) -> ResolvedHost:
    """Return the settings of a host from the options of ssh_config.

    Args:
        name: The name as given to ssh, without `user@`.
        options: From `ssh -G`, or from evalroom's own reading.
        account: The account that runs evalroom.
        digest: The value of `%C` as ssh computes it; None: as OpenSSH 9.2 does.
        is_expanded: Whether the files of host keys and the agent are expanded already, as `ssh -G`
            prints them.
        own_reading: The options by evalroom's own reading. `ssh -G` prints a list of files without
            quotes; if its files have blanks, evalroom's own reading shows where one ends. None:
            the files that exist show it.

    Raises:
        ConfigProblem: A value can't be expanded.
    """

    def first(option: str, default: str = "") -> str:
        return options.get(option, (default,))[0]

    def optional(option: str) -> str | None:
        value = first(option, "none")
        return None if value == "none" else value

    host, user, port = first("hostname", name), first("user"), _number(options, "port", 22)
    alias = optional("hostkeyalias")
    tokens = local_tokens(account, name=name, host=host, port=port, user=user, alias=alias)
    tokens["j"] = optional("proxyjump") or ""
    if digest is not None:
        tokens["C"] = digest

    def path(value: str) -> str:
        return expand_tokens(expand_home(value, account), tokens, environment=os.environ)

    def files(option: str) -> tuple[str, ...]:
        return tuple(path(each) for each in options.get(option, ()) if each != "none")

    def listed(option: str, *, expands: bool) -> tuple[str, ...]:
        def expanded(words: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(path(each) for each in words) if expands else words

        own = (own_reading or {}).get(option, ())
        if not is_expanded:
            words = expanded(options.get(option, ()))
        else:
            words = _printed_paths(first(option), own, expanded, account)
        return tuple(each for each in words if each != "none")

    command, jump = optional("proxycommand"), optional("proxyjump")
    agent = first("identityagent") or None
    if agent is not None and not is_expanded and not _is_variable(agent):
        agent = path(agent)
    timeout = _number(options, "connecttimeout", 0)
    methods = first("preferredauthentications")
    return ResolvedHost(
        name=name,
        host=host,
        user=user,
        port=port,
        alias=alias,
        identities=files("identityfile"),
        certificates=files("certificatefile"),
        identities_only=first("identitiesonly") == "yes",
        agent=agent,
        jump=expand_tokens(jump, tokens) if jump else None,
        proxy_command=expand_tokens(command, tokens) if command and not jump else None,
        connect_timeout=float(timeout) if timeout else None,
        alive_interval=_number(options, "serveraliveinterval", 0),
        alive_count_max=_number(options, "serveralivecountmax", 3),
        known_hosts=(
            *listed("userknownhostsfile", expands=True),
            *listed("globalknownhostsfile", expands=False),
        ),
        strict_host_key_checking=first("stricthostkeychecking", "ask"),
        family=_FAMILIES.get(first("addressfamily"), socket.AF_UNSPEC),
        bind_address=optional("bindaddress"),
        compression=first("compression") == "yes",
        tcp_keepalive=first("tcpkeepalive") not in _OFF,
        methods=tuple(methods.split(",")) if methods else None,
        public_key_login=first("pubkeyauthentication") not in _OFF,
        password_login=first("passwordauthentication") not in _OFF,
        question_login=first("kbdinteractiveauthentication") not in _OFF,
        environment=options.get("setenv", ()),
        sent_variables=options.get("sendenv", ()),
    )


def _number(options: Options, option: str, default: int) -> int:
    """Return a whole number; the default if it is not set.

    Raises:
        ConfigProblem: It is something else.
    """
    value = options.get(option, ("none",))[0]
    if value == "none":
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= _DIGITS):
        raise ConfigProblem(f"{option} is not a number: {shown(value, 40)}")
    return int(value)


def needs_digest(options: Options) -> bool:
    """Return whether a value holds `%C`, which ssh's versions compute in different ways."""
    names = ("identityfile", "certificatefile", "proxycommand")
    return any("%C" in value for name in names for value in options.get(name, ()))


def has_file_lists(options: Options, defaults: Options) -> bool:
    """Return whether `ssh -G` printed files of host keys in which one path may hold blanks."""
    return any(
        options.get(option) != defaults.get(option) and " " in options.get(option, ("",))[0]
        for option in ("userknownhostsfile", "globalknownhostsfile")
    )


def algorithms_of(options: Options, defaults: Options) -> Algorithms:
    """Return the algorithms in `options` that differ from ssh's own `defaults`."""

    def set_list(option: str) -> str | None:
        value = options.get(option)
        return value[0] if value and value != defaults.get(option) else None

    return Algorithms(
        ciphers=set_list("ciphers"),
        macs=set_list("macs"),
        key_exchange=set_list("kexalgorithms"),
        host_keys=set_list("hostkeyalgorithms"),
    )


def agent_socket(agent: str | None, environment: Mapping[str, str]) -> str | None:
    """Return the path of the agent's socket; None: no agent is to be used, or none is known.

    Args:
        agent: The value of IdentityAgent; None: not set.
        environment: Where SSH_AUTH_SOCK and other variables are looked up.
    """
    if agent == "none":
        return None
    if agent is None or agent == AGENT_VARIABLE:
        return environment.get(AGENT_VARIABLE) or None
    return environment.get(agent[1:]) or None if agent.startswith("$") else agent


def _is_variable(agent: str) -> bool:
    return agent in {"none", AGENT_VARIABLE} or (agent.startswith("$") and "{" not in agent)


def _printed_paths(
    printed: str,
    own: tuple[str, ...],
    expanded: Callable[[tuple[str, ...]], tuple[str, ...]],
    account: LocalAccount,
) -> tuple[str, ...]:
    """Split paths that ssh printed with blanks between them.

    `own` are those that evalroom itself reads; if they give the same text, they are the answer.
    Otherwise a path that exists may hold blanks. Of those that do not exist, a word that begins
    neither with `/` nor with `~` belongs to the path before it.
    """
    with contextlib.suppress(ConfigProblem):
        if printed in {" ".join(own), " ".join(expanded(own))}:
            return expanded(own)
    words, found = printed.split(" "), list[str]()
    while words:
        ends = range(len(words), 1, -1)
        joined = (" ".join(words[:end]) for end in ends)
        path = next((each for each in joined if _is_there(each, account)), None)
        if path is None:
            nexts = (at for at, word in enumerate(words) if at and word.startswith(("/", "~")))
            is_file = _is_there(words[0], account, stat.S_ISREG)
            path = " ".join(words[: 1 if is_file else next(nexts, len(words))])
        found.append(expand_home(path, account))
        words = words[path.count(" ") + 1 :]
    return tuple(each for each in found if each)


def _is_there(
    path: str, account: LocalAccount, is_kind: Callable[[int], bool] = lambda _: True
) -> bool:
    """Whether there is something of this kind; a path that no system has is not there."""
    try:
        return is_kind(Path(expand_home(path, account)).stat().st_mode)
    except (OSError, ValueError):
        return False
