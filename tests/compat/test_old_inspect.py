"""Evals of older Inspects are watched too: rows come, what they lack is None, nothing breaks."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from core.ctl import reads, routes
from core.ctl.answer_errors import good_body
from core.ctl.event_cursor import EventFollower
from core.ctl.features import surface
from core.errors import Unsupported
from core.events import ReadFailed
from core.fold.operations import operations_of
from core.ids import SampleKey
from core.model.process import ProcessState
from core.model.sample import Activity, Sample
from core.model.task import Task, TaskState
from tests.support.desk_on_evals import Watched, ended, watching_eval
from tests.support.evals import Eval, Evals
from tests.support.inherited import proxies_for_packages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

VERSIONS = ("0.3.246", "0.3.252", "0.3.260")
API: Mapping[str, int] = {"0.3.246": 1, "0.3.252": 5, "0.3.260": 6}
LACKS: Mapping[str, frozenset[str]] = {
    "0.3.246": frozenset({"epochs", "held", "refusals", "http_retries"}),
    "0.3.252": frozenset({"held", "refusals", "http_retries"}),
    "0.3.260": frozenset(),
}
"""Fields of a task row that a version does not tell."""
TELLS = frozenset({"epochs", "held", "refusals", "http_retries"})


def python_with(version: str) -> str:
    """Return the interpreter of a venv with that Inspect; made once, kept in the user's cache."""
    tag = f"inspect-{version}-py{sys.version_info.major}{sys.version_info.minor}"
    folder = user_cache_path("evalroom") / "tests" / tag
    python = folder / "bin" / "python"
    made = folder / ".made"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{tag}.lock").open("w") as lock:  # another worker may be making it
        fcntl.flock(lock, fcntl.LOCK_EX)
        _make(folder, made, version)
    return str(python)


def _make(folder: Path, made: Path, version: str) -> None:
    python = folder / "bin" / "python"
    if not made.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*install, f"inspect-ai=={version}"], check=False, capture_output=True, text=True,
            env={**os.environ, **proxies_for_packages()},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        made.touch()


@pytest.fixture(
    params=[
        pytest.param(version, marks=pytest.mark.xdist_group(f"inspect {version}"))
        for version in VERSIONS
    ]
)
def version(request: pytest.FixtureRequest) -> str:
    """One old version."""
    found: str = request.param
    return found


@pytest.fixture
def gate(evals: Evals) -> Path:
    """Made by a test, it lets the samples of its eval go on; before, two of the four wait."""
    return evals.folder / "gate"


def open_gate(gate: Path) -> None:
    """Let the samples of the eval go on."""
    gate.touch()


@pytest.fixture
def old_eval(version: str, evals: Evals, gate: Path) -> Eval:
    """An eval under way on that version; it is kept when it ends."""
    one = evals.start(
        "turns", args={"samples": 4, "turns": 4, "gate": gate}, keep=True,
        options=("--max-samples=2",), python=python_with(version),
    )  # fmt: skip
    return one.wait_ready()


async def test_an_old_inspect_is_watched_from_its_start_to_its_logs_word(
    version: str, old_eval: Eval, gate: Path
) -> None:
    async with watching_eval(old_eval) as watched:
        key = await watched.key(old_eval)
        assert watched.fleet.processes[key].api_version == API[version]
        seen: dict[str, set[object]] = {}

        def running() -> Task | None:
            task = watched.task(old_eval, "turns")
            if task is None:
                return None
            for sample in task.samples.values():
                _notice(sample, seen)
            return task if any(s.status == "running" for s in task.samples.values()) else None

        task = await watched.until(running, "running samples")
        assert task.row.samples.total == 4
        assert task.row.model == "mock/talker"
        for name in TELLS:
            assert (getattr(task.row, name) is None) == (name in LACKS[version]), name

        open_gate(gate)

        def parked() -> bool:
            running()
            process = watched.process(old_eval)
            assert process is not None
            assert process.state not in {ProcessState.HEADLESS, ProcessState.GONE}
            return process.state is ProcessState.PARKED

        await watched.until(parked, "it parks")
        await watched.until(lambda: _proved(watched, old_eval), "its log's word")
        over = watched.task(old_eval, "turns")
        assert over is not None
        assert over.header is not None
        assert over.header.metrics[0].name == "accuracy"
        assert over.row.samples.completed == 4
        assert {sample.status for sample in over.samples.values()} == {"completed"}
        assert over.counts is not None
        assert (over.counts.completed, over.counts.running) == (4, 0)
        assert {"running", "completed"} <= seen["status"]
        if version == "0.3.246":
            assert seen["activity"] == {None}
        assert seen["interrupt"] == {None}
        failed = [event for event in watched.events if isinstance(event, ReadFailed)]
        assert failed == []


def _notice(sample: Sample, seen: dict[str, set[object]]) -> None:
    activity = sample.activity.type if isinstance(sample.activity, Activity) else None
    for name, value in (
        ("status", sample.status),
        ("activity", activity),
        ("interrupt", sample.interrupt),
    ):
        seen.setdefault(name, set()).add(value)


def _proved(watched: Watched, one: Eval) -> bool:
    task = watched.task(one, "turns")
    return task is not None and task.state is TaskState.SUCCESS


async def test_the_trace_shows_a_hung_command_of_an_old_inspect(version: str, evals: Evals) -> None:
    one = evals.start("hung", python=python_with(version)).wait_ready()
    async with watching_eval(one) as watched:

        def hangs() -> bool:
            task = watched.task(one, "hung")
            if task is None:
                return False
            told = operations_of(watched.fleet, task).values()
            return [each.words for each in told] == ["sleep 1000"]

        await watched.until(hangs, "its trace names the command")


async def test_the_content_of_an_old_sample_is_read_or_reported_as_missing(
    version: str, old_eval: Eval, gate: Path
) -> None:
    open_gate(gate)
    old_eval.wait_finished()
    async with watching_eval(old_eval) as watched:
        key = await watched.key(old_eval)
        task = watched.task(old_eval, "turns")
        assert task is not None
        read, eval_id = watched.desk.read, task.row.eval_id
        sample = SampleKey(task.key, "s001", 1)
        detail = await reads.read_sample(read, sample, eval_id)
        assert detail.sample.status == "completed"
        followed = await reads.follow_events(read, sample, eval_id, EventFollower())
        assert [event.kind for event in followed.events].count("model") == 4
        assert all(not event.content for event in followed.events)
        assert b"yes" not in b"".join(event.raw for event in followed.events)
        if version == "0.3.246":
            with pytest.raises(Unsupported):
                await reads.read_messages(read, sample, eval_id)
        else:
            spoken = await reads.read_messages(read, sample, eval_id)
            assert spoken.count == len(spoken.messages) > 0
            assert all(message.content is None for message in spoken.messages)
        with pytest.raises(Unsupported):
            await reads.read_store(read, sample, eval_id)
        with pytest.raises(Unsupported):
            await reads.read_throughput(read, key)
        view = await reads.read_task_config(read, task.key)
        assert view.max_samples is not None
        found = surface(good_body(await read(key, routes.OPENAPI), "its routes"))
        assert found.has("tasks")


async def test_an_ended_eval_of_an_old_inspect_is_described_from_its_log(
    version: str, evals: Evals, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    one = evals.start(
        "errors", "turns", args={"samples": 3, "sleep": 0.1, "gate": str(gate)},
        options=("--max-tasks=2", "--no-fail-on-error"), python=python_with(version),
    )  # fmt: skip
    async with watching_eval(one) as watched:
        tasks = await ended(watched, one, 2, gate=gate)
        errors, turns = sorted(tasks, key=lambda task: task.row.task)
        assert errors.logged is not None
        counts = errors.logged.counts
        assert (counts.total, counts.completed, counts.errored, counts.scored) == (3, 1, 2, 1)
        assert "ConnectionError: sample N lost its sandbox" in {
            group.cause for group in errors.logged.errors
        }
        read, key = watched.desk.read, SampleKey(turns.key, "s001", 1)
        eval_id = turns.row.eval_id
        detail = await reads.read_sample(read, SampleKey(errors.key, 3, 1), errors.row.eval_id)
        assert detail.error is not None
        page = await reads.read_events(read, key, eval_id, content=True)
        assert any(event.content.get("completion") for event in page.events)
        messages = await reads.read_messages(read, key, eval_id, content=True)
        assert any(each.content == "and again (1)" for each in messages.messages)
        store = await reads.read_store(read, key, eval_id, content=True)
        assert {entry.key for entry in store.entries} >= {"turn", "note"}
