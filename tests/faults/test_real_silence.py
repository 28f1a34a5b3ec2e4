"""Blackouts of a real network, both ways and one way: the machine is back soon after each."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.frames import Frame
from core.ids import MachineName
from tests.support.evals import short_folder
from tests.support.far_machines import FarMachine, far_machines
from tests.support.reached import connection_of
from tests.support.receiving import Receiver, receiving
from tests.support.tun_network import Lane, TunNetwork

BACK_WITHIN_S = 10.0
DARKS = (
    ("asyncssh", Lane(out_is_dark=True, back_is_dark=True)),
    ("asyncssh", Lane(out_is_dark=True)),
    ("asyncssh", Lane(back_is_dark=True)),
    ("command", Lane(out_is_dark=True, back_is_dark=True)),
)
"""The link of each machine, and its blackout; all happen at once."""


def _machine(link: str, far: FarMachine, address: str, folder: Path) -> tuple[MachineConfig, Path]:
    known = folder / f"known-{far.name}"
    known.write_text(far.known_hosts_line(address))
    name, key = MachineName(far.name), str(far.sshd.key)
    if link == "asyncssh":
        return MachineConfig(
            name=name, host=address, user="root", identity=key, ssh_config="none",
            python=sys.executable,
        ), known  # fmt: skip
    command = (
        "ssh", "-F", "none", "-i", key, "-o", f"UserKnownHostsFile={known}", "-o",
        f"ControlPath={folder}/c-{far.name}", "-o", "ControlMaster=auto", "-o", "ControlPersist=15",
        f"root@{address}",
    )  # fmt: skip
    return MachineConfig(name=name, link="command", command=command, python=sys.executable), known


async def _seconds_until_heard(receiver: Receiver, healed_at: float) -> float:
    """Return the seconds until something came that was read after the network healed."""

    def came() -> bool:
        return any(
            isinstance(each, Frame) and each.head.get("at", 0.0) > healed_at
            for each in receiver.received
        )

    await receiver.until(came)
    return time.time() - healed_at


async def _comes_back(
    number: int, far: FarMachine, network: TunNetwork, folder: Path, seconds: float
) -> None:
    link, dark = DARKS[number % len(DARKS)]
    machine, known = _machine(link, far, network.addresses[number], folder)
    async with receiving(connection_of(machine, known)) as receiver:
        await receiver.hello()
        network.set(number, dark)
        await asyncio.sleep(seconds)
        healed_at = time.time()
        network.set(number, Lane())
        took = await _seconds_until_heard(receiver, healed_at)
        assert took < BACK_WITHIN_S, (link, dark, seconds, receiver.links)


@pytest.mark.parametrize(
    "lengths", [(7.0, 25.0), pytest.param((180.0,), marks=pytest.mark.slow)], ids=str
)
async def test_a_machine_is_heard_soon_after_a_real_blackout(lengths: tuple[float, ...]) -> None:
    count = len(DARKS) * len(lengths)
    with short_folder() as folder, far_machines(folder, count) as (machines, network):
        async with asyncio.TaskGroup() as tasks:
            for number, far in enumerate(machines):
                seconds = lengths[number // len(DARKS)]
                tasks.create_task(_comes_back(number, far, network, folder, seconds))
