"""Makes the connection to a machine from its entry in the config."""

from functools import partial
from pathlib import Path

from core.config.model import MachineConfig, WatchConfig
from core.errors import StorageError
from core.ports import Ask, MachineConnection
from core.text import shown
from ssh.link_supervisor import LinkSupervisor, MakeLink, fresh_desk
from ssh.links.command_link import CommandLink
from ssh.links.link import Link
from ssh.links.sign_in import sign_in_of
from ssh.probe_session import ProbeOptions


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

    asyncssh is imported only for a machine that uses it, with its first link.

    Args:
        machine: As the config names it.
        known_hosts: Evalroom's own file of accepted host keys, written 0600.
        read_only: Whether the probe relays reads alone, whatever the machine says.
        ask: Asks the operator for a passphrase or a password; None: nobody is there.
        watch: How often the probe looks around; None: the defaults.
        lease: Seconds that a probe lives without a word from here; None: 60, the most.
    """
    options = ProbeOptions(
        desk=fresh_desk(),
        python=machine.python,
        data_dir=machine.data_dir,
        read_only=read_only or machine.read_only,
        watch=watch or WatchConfig(),
        lease=lease,
    )
    if machine.link == "command":

        def make_command_link(*, asking: bool) -> Link:  # noqa: ARG001 - it can't ask
            return CommandLink(machine.name, machine.command)

        return LinkSupervisor(
            machine.name,
            address=" ".join(machine.command),
            make_link=make_command_link,
            options=options,
            sign_in=partial(sign_in_of, machine.command),
        )
    return LinkSupervisor(
        machine.name,
        address=f"{machine.host or machine.name}:{machine.port or ''}",
        make_link=_asyncssh_links(machine, known_hosts, ask),
        options=options,
        trust=lambda line: _remember(known_hosts, line),
    )


def _asyncssh_links(machine: MachineConfig, known_hosts: Path, ask: Ask | None) -> MakeLink:
    """Make links by asyncssh, which is loaded with the first one: the room is drawn before."""
    links: list[MakeLink] = []

    def make_link(*, asking: bool) -> Link:
        if not links:
            from ssh.links.asyncssh_link import asyncssh_links  # noqa: PLC0415

            links.append(asyncssh_links(machine, known_hosts=known_hosts, ask=ask))
        return links[0](asking=asking)

    return make_link


def _remember(known_hosts: Path, line: str) -> None:
    from ssh.links.trust import remember  # noqa: PLC0415 - it needs asyncssh

    try:
        remember(known_hosts, line)
    except OSError as error:
        place = shown(str(known_hosts))
        raise StorageError(
            f"the host key is not accepted: {place} can't be written ({error.strerror})",
            "mend that, then accept it again",
        ) from error
