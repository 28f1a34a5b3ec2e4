"""The options of one asyncssh connection, from the values of ssh_config.

asyncssh itself reads no config file: it reads comments, `Match` and quotes differently from ssh,
and would then connect to another host.
"""

from collections.abc import Callable, Sequence
from typing import Any

from asyncssh.encryption import get_encryption_algs
from asyncssh.kex import get_kex_algs
from asyncssh.mac import get_mac_algs
from asyncssh.public_key import get_certificate_algs, get_public_key_algs

from core.config.model import MachineConfig
from core.errors import LinkRefused
from core.text import shown
from ssh.links.asyncssh_auth import AuthClient
from ssh.links.errors import use_command
from ssh.links.login_keys import LoadedKeys
from ssh.links.ssh_config import Hop, ssh_words
from ssh.links.trust import KeyLists, KnownHosts

CONNECT_TIMEOUT_S = 10.0
"""Timeout of the TCP connect where ssh_config sets none, seconds."""
KEEPALIVE_EVERY_S, MAX_MISSED_KEEPALIVES = 5, 3
"""asyncssh gives a connection up after this many unanswered keepalives; ServerAliveInterval and
ServerAliveCountMax of ssh_config take their place."""
CIPHERS = "^aes256-gcm@openssh.com,aes128-gcm@openssh.com"
"""Preferred ciphers where ssh_config sets none; OpenSSH prefers them too. asyncssh would prefer
ChaCha20, which it partly computes in Python: six times the CPU per packet, at one packet for every
frame of up to two hundred machines."""
_METHODS = frozenset(
    {"gssapi-with-mic", "hostbased", "publickey", "keyboard-interactive", "password"}
)


def connect_timeout(hop: Hop) -> float:
    """Return the timeout of connecting to `hop`, seconds."""
    return hop.host.connect_timeout or CONNECT_TIMEOUT_S


def connection_options(
    machine: MachineConfig,
    hop: Hop,
    known: KnownHosts,
    keys: LoadedKeys,
    client_factory: Callable[[], AuthClient],
) -> dict[str, Any]:
    """Return the arguments of `asyncssh.connect` for one host on the way to `machine`.

    Raises:
        LinkRefused: asyncssh has none of the algorithms that ssh_config sets.
    """
    host = hop.host

    def match(_host: str, _addr: str, _port: int | None) -> KeyLists:
        return known.match(host.known_as[0], "", host.known_as[1])

    options: dict[str, Any] = {
        "host": host.host,
        "port": host.port,
        "username": host.user,
        "config": None,
        "tunnel": None,
        "proxy_command": None,
        "family": host.family,
        "local_addr": (host.bind_address, 0) if host.bind_address else None,
        "tcp_keepalive": host.tcp_keepalive,
        "canonicalize_hostname": False,
        "known_hosts": match,
        "client_factory": client_factory,
        "client_keys": list(keys.pairs) or None,
        "public_key_auth": host.public_key_login,
        "password_auth": host.password_login,
        "kbdint_auth": host.question_login,
        "agent_path": None,
        "agent_forwarding": False,
        "env": _environment(host.environment),
        "send_env": list(host.sent_variables) or None,
        "keepalive_interval": host.alive_interval or KEEPALIVE_EVERY_S,
        "keepalive_count_max": (
            host.alive_count_max if host.alive_interval else MAX_MISSED_KEEPALIVES
        ),
        "connect_timeout": connect_timeout(hop),
        "encryption_algs": CIPHERS,
        "server_host_key_algs": known.algorithms(*host.known_as),
    }
    if host.methods is not None:
        options["preferred_auth"] = [each for each in host.methods if each in _METHODS]
    if host.compression:
        options["compression_algs"] = "zlib@openssh.com,zlib,none"
    chosen = hop.algorithms
    for option, listed, supported in (
        ("encryption_algs", chosen.ciphers, get_encryption_algs()),
        ("mac_algs", chosen.macs, get_mac_algs()),
        ("kex_algs", chosen.key_exchange, get_kex_algs()),
        (
            "server_host_key_algs",
            chosen.host_keys,
            [*get_certificate_algs(), *get_public_key_algs()],
        ),
    ):
        if listed is not None:
            options[option] = _supported(machine, option, listed, supported)
    return options


def _supported(
    machine: MachineConfig, option: str, listed: str, supported: Sequence[bytes]
) -> list[str] | str:
    if listed.startswith(("+", "-", "^")):
        return listed
    names = {each.decode() for each in supported}
    found = [each for each in listed.split(",") if each in names]
    if not found:
        kind = {"encryption_algs": "Ciphers", "mac_algs": "MACs", "kex_algs": "KexAlgorithms"}
        raise LinkRefused(
            machine.name,
            f"evalroom has none of the {kind.get(option, 'HostKeyAlgorithms')} that ssh_config "
            f"sets for {machine.name}: {shown(listed, 120)}",
            use_command(ssh_words(machine)),
        )
    return found


def _environment(words: Sequence[str]) -> dict[str, str] | None:
    pairs = (word.partition("=") for word in words)
    return {name: value for name, _, value in pairs} or None
