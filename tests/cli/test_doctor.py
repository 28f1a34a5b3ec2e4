"""`evalroom doctor`: an administrator is told once how accounts share GPU reservations."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.launch.preflight.gpu_reservations import KEEP_SHARED_FOLDER, MAKE_SHARED_FOLDER
from core.launch.preflight.shared_folder import SharedFolder, shared_folder_on
from core.model.job import Job
from tests.support.commands import Home, machine
from tests.support.evals import short_folder

HERE = MachineConfig(name=MachineName("here"), link="command")


@pytest.fixture
def home() -> Iterator[Home]:
    with short_folder() as folder:
        yield Home(folder)


class Answers:
    """A machine whose survey says this of its reservations."""

    def __init__(self, part: dict[str, object]) -> None:
        self.part = part

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> dict[str, object]:
        assert (machine, job.program, job.changes, deadline > 0) == (
            HERE.name,
            "survey",
            False,
            True,
        )
        return {"reservations": self.part}


async def _found(folder: str, why: str) -> SharedFolder:
    part: dict[str, object] = {"state": "ok", "value": {"folder": folder, "held": [], "why": why}}
    return await shared_folder_on(Answers(part), HERE)


async def test_a_private_folder_is_trouble_with_steps() -> None:
    found = await _found("~/.evalroom/gpus", "/var/lock/evalroom belongs to bob\x1b[2J")
    assert found.trouble == (
        "other accounts don't see GPU reservations of this account: /var/lock/evalroom belongs to"
        " bob\u241b[2J"
    )
    assert found.steps == (MAKE_SHARED_FOLDER, KEEP_SHARED_FOLDER)
    assert (await _found("/var/lock/evalroom", "")).trouble == ""


async def test_a_folder_that_can_not_be_used_is_reported() -> None:
    found = await shared_folder_on(Answers({"state": "failed", "error": "it is not sticky"}), HERE)
    assert found == SharedFolder(folder="", trouble=found.trouble)
    assert found.trouble == "GPUs can't be reserved: it is not sticky"


def test_a_machine_whose_accounts_share_the_folder_is_ok(home: Home, tmp_path: Path) -> None:
    locks = tmp_path / "locks"
    locks.mkdir(mode=0o700)
    home.configure(machine("here", home.folder) + f'gpu_locks = "{locks}"\n')
    ran = home.run("doctor")
    assert (ran.status, ran.out) == (0, f"here: ok, accounts share GPU reservations in {locks}\n")
    locks.chmod(0o777)
    ran = home.run("doctor", "--json")
    assert ran.status == 1
    [row] = ran.json["machines"]
    assert "it is not sticky" in row["trouble"]
