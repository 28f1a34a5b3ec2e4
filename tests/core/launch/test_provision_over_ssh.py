"""uv and code come to an account behind a real sshd, also where the link is cut under it."""

import asyncio
import hashlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import JobFailed, RequestFailed
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.provision import fetch_client
from core.model.machine import LinkState
from tests.core.launch.test_checkout import planned
from tests.core.launch.test_uv_comes import OWN, made, nothing
from tests.support.desk_on_evals import watching
from tests.support.evals import short_folder
from tests.support.processes import lives, wait_gone, working_in
from tests.support.reached import machine_of, trusting
from tests.support.repositories import repository, serving
from tests.support.sshd import Sshd, running
from tests.support.waiting import WAIT_S

ALICE = MachineName("local")  # as the plans of these tests name their machine


@pytest.fixture
def sshd() -> Iterator[Sshd]:
    with running() as server:
        yield server


async def test_uv_and_code_come_over_ssh_and_a_cut_link_leaves_nothing_at_work(
    sshd: Sshd,
) -> None:
    go_on, asked_for = threading.Event(), threading.Event()

    def hold() -> None:
        asked_for.set()
        go_on.wait(WAIT_S)

    with short_folder() as folder, serving(folder / "served") as server:
        source = repository(folder / "served" / "code", {"x.py": "X = 1\n"})
        machine = machine_of(sshd, "alice", name=ALICE)
        known_hosts = trusting(sshd, folder)
        async with watching([machine], known_hosts, read_only=False) as watched:
            desk = watched.desk
            await desk.first_poll(WAIT_S)
            got = await fetch_client.fetch_uv(desk, ALICE, made, nothing)
            assert (got.version, got.how) == ("0.9.1", "sent from here")
            home = sshd.home("alice")
            there = (home / OWN).read_bytes()
            assert hashlib.sha256(there).hexdigest() == made().sha256

            server.on_request = hold
            asked = planned(server.url("code"))
            cut = asyncio.create_task(fetch_client.fetch_code(desk, asked, token=None))
            assert await asyncio.to_thread(asked_for.wait, 30)
            inside = Path("/home/alice")  # as its own programs see it
            assert sshd.process is not None
            at_work = working_in(inside, as_seen_by=sshd.process.pid)
            assert at_work
            before = desk.fleet.machines[ALICE].link.since
            sshd.signal_sessions(signal.SIGKILL)
            with pytest.raises(RequestFailed) as caught:
                await cut
            assert not isinstance(caught.value, JobFailed)  # nobody knows: it is done again
            await asyncio.to_thread(
                wait_gone, lambda: [*filter(lives, at_work)], "its programs are"
            )
            go_on.set()
            await watched.until(lambda: _is_up_again(desk.fleet, before), "it is up again")
            done = await fetch_client.fetch_code(desk, asked, token=None)
            assert done.version == source.git("rev-parse", "HEAD")
            with pytest.raises(JobFailed, match="belongs to another account"):
                await fetch_client.fetch_code(desk, planned(_open(source.folder)), token=None)


def _is_up_again(fleet: Fleet, before: float) -> bool:
    link = fleet.machines[ALICE].link
    return link.state is LinkState.UP and link.since > before


def _open(folder: Path) -> Path:
    """Let other accounts read a folder; it stays its owner's."""
    for each in (folder, *folder.parents):
        if each.name.startswith("er-"):
            each.chmod(0o755)
            break
    return folder
