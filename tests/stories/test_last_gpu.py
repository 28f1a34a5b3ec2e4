"""Two operators launch on the last free GPU of a machine."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.support.commands import Home, machine
from tests.support.evals import short_folder
from tests.support.gpus import TWO, Gpus
from tests.support.launches import alive, end_all
from tests.support.processes import environ_of
from tests.support.waiting import WAIT_S, wait_until

pytestmark = [
    pytest.mark.slow, pytest.mark.xdist_group("launches"),
]  # fmt: skip
SPEC = """\
task = "evalroom/smoke"
model = "mockllm/model"
machine = "local"
on_error = "continue"
args = { samples = 3, pass_rate = 1.0 }
keep = true
gpus = 1
"""


@pytest.fixture
def gpus() -> Iterator[Gpus]:
    with short_folder() as folder:
        yield Gpus(folder).are(TWO, apps="GPU-bb, 4242\n")


def _operator(gpus: Gpus, name: str) -> Home:
    home = Home(gpus.folder / name)
    home.configure(machine("local") + f'gpu_locks = "{gpus.locks}"\n')
    (home.folder / "s.toml").write_text(SPEC)
    return home


def test_one_gets_it_and_the_other_learns_who_has_it(gpus: Gpus) -> None:
    first, second = _operator(gpus, "a"), _operator(gpus, "b")
    env = {"PATH": gpus.path}
    runs: list[str] = []
    words = ("launch", "s.toml", "--yes", "--json")
    try:
        # In the same instant: each preflight may still find the GPU free.
        started = [each.start(*words, env=env) for each in (first, second)]
        printed = [each.communicate(timeout=WAIT_S)[0].decode() for each in started]
        runs = re.findall(r'"run_id": ?"([0-9a-z-]+)"', "".join(printed))
        [winner] = {run for run in runs if alive(run)}
        assert sorted(each.returncode for each in started) == [0, 1]
        [loser] = [text for text in printed if winner not in json.loads(text)["run_id"]]
        assert f"1 GPU requested, 0 of 2 free; GPU 0 is reserved by run {winner}" in loser
        [pid] = alive(winner)
        assert environ_of(pid)["CUDA_VISIBLE_DEVICES"] == "0"

        # Later the preflight knows, and nothing is tried.
        late = second.run(*words, env=env)
        assert late.status != 0
        assert winner in late.out + late.err
        end_all([winner])
        wait_until(lambda: gpus.is_unlocked("GPU-aa"), "the GPU is given back")
        after = second.run(*words, env=env)
        assert after.status == 0, after.err
        runs.append(after.json["run_id"])
    finally:
        end_all(runs)
