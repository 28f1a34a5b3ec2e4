"""Makes the connection to a machine from its entry in the config."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from core.config.model import MachineConfig, WatchConfig
from core.errors import StorageError
from core.ports import Ask, MachineConnection
from core.text import shown
from ssh.link_supervisor import LinkSupervisor, new_desk_id
from ssh.links.agent import AgentWatch
from ssh.links.command_link import CommandLink
from ssh.links.control_master import ControlMaster
from ssh.links.link import Link, LinkFactory
from ssh.links.sign_in import sign_in_for
from ssh.probe_session import ProbeOptions

if TYPE_CHECKING:
    from ssh.links.jump_hosts import JumpHosts

_JUMP_HOSTS: "WeakKeyDictionary[asyncio.AbstractEventLoop, JumpHosts]" = WeakKeyDictionary()
"""The jump hosts of a room: all machines of one event loop share the connections to them."""


def connection_for(
    machine: MachineConfig,
    *,
    known_hosts: Path,
    read_only: bool,
    ask: Ask | None,
    watch: WatchConfig | None = None,
    lease: float | None = None,
) -> MachineConnection:
    """Return the connection to `machine`; it does nothing until `run` is called.

    asyncssh is imported with the first link that needs it: importing it takes long.

    Args:
        machine: Its entry in the config.
        known_hosts: evalroom's own file of accepted host keys, written with mode 0600.
        read_only: Refuse all mutations, even if the machine's entry allows them.
        ask: Asks the operator for a passphrase or a password; None: nobody can be asked.
        watch: How often the probe polls; None: the defaults.
        lease: Seconds without a heartbeat after which the probe exits, at most 60. None: 60.
    """
    options = ProbeOptions(
        desk=new_desk_id(),
        python=machine.python,
        data_dir=machine.data_dir,
        read_only=read_only or machine.read_only,
        watch=watch or WatchConfig(),
        lease=lease,
    )
    agent = AgentWatch()
    if machine.link == "command":
        master = ControlMaster(machine.command)

        def make_command_link(*, interactive: bool) -> Link:
            if interactive:
                master.use_again()
            return CommandLink(machine.name, machine.command, agent, master)

        return LinkSupervisor(
            machine.name,
            address=" ".join(machine.command),
            make_link=make_command_link,
            options=options,
            sign_in=partial(sign_in_for, machine.command),
            agent=agent,
        )
    return LinkSupervisor(
        machine.name,
        address=f"{machine.host or machine.name}:{machine.port or ''}",
        make_link=_asyncssh_links(machine, known_hosts, ask, agent),
        agent=agent,
        options=options,
        accept=lambda line: _accept_key(known_hosts, line),
        on_asked=_try_jump_hosts_again,
    )


def _asyncssh_links(
    machine: MachineConfig, known_hosts: Path, ask: Ask | None, agent: AgentWatch
) -> LinkFactory:
    """Return a link factory that imports asyncssh at its first call, after the room is drawn."""
    factories: list[LinkFactory] = []

    def make_link(*, interactive: bool) -> Link:
        if not factories:
            from ssh.links.asyncssh_link import asyncssh_link_factory  # noqa: PLC0415
            from ssh.links.jump_hosts import JumpHosts  # noqa: PLC0415

            jumps = _JUMP_HOSTS.setdefault(asyncio.get_running_loop(), JumpHosts())
            factories.append(
                asyncssh_link_factory(
                    machine, known_hosts=known_hosts, ask=ask, agent=agent, jumps=jumps
                )
            )
        return factories[0](interactive=interactive)

    return make_link


def _try_jump_hosts_again() -> None:
    jumps = _JUMP_HOSTS.get(asyncio.get_running_loop())
    if jumps is not None:
        jumps.try_again()


def _accept_key(known_hosts: Path, line: str) -> None:
    from ssh.links.trust import add_known_host  # noqa: PLC0415 - imports asyncssh

    try:
        add_known_host(known_hosts, line)
    except OSError as error:
        place = shown(str(known_hosts))
        raise StorageError(
            f"the host key was not accepted: can't write {place} ({error.strerror})",
            "make the file writable, then accept the key again",
        ) from error
