"""Makes the station of a machine as the config names it."""

from pathlib import Path

from core.config import MachineConfig, WatchConfig
from core.ports import Ask, Station
from ssh.command_link import CommandLink
from ssh.keeper import Keeper, fresh_desk
from ssh.link import Link
from ssh.probe_session import ProbeOptions


def station_for(
    machine: MachineConfig,
    *,
    known_hosts: Path,
    read_only: bool,
    ask: Ask | None,
    watch: WatchConfig | None = None,
    lease: float | None = None,
) -> Station:
    """Return the station of `machine`; it does nothing until it runs.

    asyncssh is imported only for a machine that uses it.

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

        return Keeper(
            machine.name,
            address=" ".join(machine.command),
            make_link=make_command_link,
            options=options,
        )
    from ssh.asyncssh_link import asyncssh_keeper  # noqa: PLC0415 - loaded only where it is used

    return asyncssh_keeper(machine, options=options, known_hosts=known_hosts, ask=ask)
