"""An eval that logs to S3: its logs are read with the secrets of its run, and with no others."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.model.task import TaskState
from tests.support.commands import EVALROOM, Home, machine
from tests.support.desk_on_evals import watching_eval
from tests.support.evals import short_folder, start_eval
from tests.support.launches import end_all, wait_all_gone
from tests.support.s3_server import s3_server
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("launches")
SECRETS = {"KEY_ID": "canary-key-id-of-the-run", "KEY": "canary-key-of-the-run"}
NO_METADATA = {"AWS_EC2_METADATA_DISABLED": "true"}
SPEC = """\
task = "evalroom/smoke"
model = "mockllm/model"
machine = "local"
on_error = "continue"
log_dir = "s3://logs/of-a-run"
args = { samples = 3, pass_rate = 0.7 }
keep = true
secrets = { AWS_ACCESS_KEY_ID = "KEY_ID", AWS_SECRET_ACCESS_KEY = "KEY" }
env = { AWS_ENDPOINT_URL = "ADDRESS", AWS_DEFAULT_REGION = "us-east-1" }
"""


@dataclass
class Operator:
    """An operator whose login has no key of any storage.

    Attributes:
        home: Their home.
        printed: All that evalroom printed to them.
    """

    home: Home
    printed: str = ""

    def run(self, *words: str) -> str:
        """Run evalroom to its end; return its standard output."""
        done = self.home.run(*words, env=NO_METADATA)
        self.printed += done.out + done.err
        assert done.status == 0, (done.out, done.err)
        return done.out


@pytest.fixture
def operator() -> Iterator[Operator]:
    with short_folder() as folder, s3_server(folder, "logs") as address:
        home = Home(folder)
        home.configure(machine("local"))
        (folder / "s.toml").write_text(SPEC.replace("ADDRESS", address))
        for name, value in SECRETS.items():
            subprocess.run(
                [*EVALROOM, "secrets", "set", name], env=home.env, cwd=folder, check=True,
                input=value.encode(), capture_output=True,
            )  # fmt: skip
        yield Operator(home)


def _watched_to_its_log(home: Home) -> None:
    """Have a watch see the eval, until its log was read."""
    watch = home.start("watch", "--json", env=NO_METADATA)
    assert watch.stdout is not None
    try:
        while json.loads(watch.stdout.readline())["event"] != "LogRead":
            pass
    finally:
        watch.terminate()
        watch.wait(WAIT_S)
        watch.stdout.close()


def _holding(folder: Path) -> set[str]:
    """The files that hold a secret."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return {file.name for file in files if b"canary-key" in file.read_bytes()}


@pytest.mark.slow
def test_a_log_at_s3_is_read_with_the_runs_own_secrets(operator: Operator) -> None:
    run = json.loads(operator.run("launch", "s.toml", "--yes", "--json"))["run_id"]
    try:
        _watched_to_its_log(operator.home)
    finally:
        end_all([run])
    wait_all_gone(run)
    [task] = json.loads(operator.run("status", "--json"))["tasks"]
    assert (task["state"], task["log"]["samples"]["completed"]) == ("success", 3)
    listed = json.loads(operator.run("samples", "evalroom/smoke", "--json"))
    assert len(listed["samples"]) == 3, "read by a probe that never saw the eval"
    [row] = json.loads(operator.run("runs", "--json"))["runs"]
    assert row["state"] == "success"
    assert "canary" not in operator.printed
    assert _holding(operator.home.folder) == {"secrets.json"}

    operator.run("secrets", "delete", "KEY", "--yes")
    unread = operator.home.run("samples", "evalroom/smoke", env=NO_METADATA)
    assert unread.status != 0
    assert "credentials" in unread.out + unread.err


@pytest.mark.slow
async def test_a_log_of_an_eval_started_by_hand_is_read_with_its_own_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with short_folder() as folder, s3_server(folder, "logs") as address:
        reaches = {
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": address,
        }
        one = start_eval(
            folder / "eval", "turns", args={"samples": 2, "turns": 2, "sleep": 0.1}, keep=True,
            options=("--log-dir", "s3://logs/by-hand"), env=reaches,
        )  # fmt: skip
        try:
            async with watching_eval(one) as here:
                await here.key(one)
                await asyncio.to_thread(one.wait_finished)
                one.release()

                def succeeded() -> bool:
                    task = here.task(one, "turns")
                    return task is not None and task.state is TaskState.SUCCESS

                await here.until(succeeded, "its log was read")
        finally:
            one.end()
