"""Machines of a test's sshd, as a config would name them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from core.config.model import MachineConfig, WatchConfig
from core.ids import MachineName
from core.ports import Ask, MachineConnection
from ssh.factory import connection_for
from tests.support.sshd import Sshd

PYTHON = "/usr/bin/python3"
HOMES_EVALS = "~/.local/share"
"""The data folder of the evals of a home. Without one, a probe of this account also polls the evals
of all other tests, and waits for those that are stopped or that hang."""


def machine_of(sshd: Sshd, user: str = "alice", **changes: Any) -> MachineConfig:
    """The config of one of its users, reached by asyncssh with the key that works."""
    machine = MachineConfig(
        name=MachineName(user),
        host="127.0.0.1",
        port=sshd.port,
        user=user,
        identity=str(sshd.key),
        ssh_config="none",
        python=PYTHON,
        data_dir=HOMES_EVALS,
    )
    return replace(machine, **changes)


def trusting(sshd: Sshd, folder: Path, key: str = "host_ed25519") -> Path:
    """A known_hosts file that knows this sshd."""
    path = folder / "known_hosts"
    path.write_text(sshd.known_hosts_line(key))
    return path


def connection_of(
    machine: MachineConfig,
    known_hosts: Path,
    *,
    read_only: bool = False,
    ask: Ask | None = None,
    lease: float | None = None,
) -> MachineConnection:
    """A connection that looks around often, for quick tests."""
    watch = WatchConfig(facts_every=1.0, discover_every=0.2)
    return connection_for(
        machine, known_hosts=known_hosts, read_only=read_only, ask=ask, watch=watch, lease=lease
    )
