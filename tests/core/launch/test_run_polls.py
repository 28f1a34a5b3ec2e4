"""A run is checked before it is called failed, and its logs are read with what they need."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from core.errors import EvalroomError, RequestFailed
from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.launch.progress import OnProgress
from core.launch.provision.dependencies import ProvisionedRun
from core.launch.run.run_poller import RunPoller
from core.launch.run.run_record import new_run
from core.launch.run.run_starter import RunStarter
from core.model.job import Job
from core.model.run import Run, RunState
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1, NOW
from tests.support.runs import run
from tests.support.specs import plan, spec


class There:
    """A desk and a registry at once; its one machine gives the answers that the test sets."""

    def __init__(self, answers: Mapping[str, Any], *known: Run) -> None:
        self.fleet = busy_fleet()
        self.answers = dict(answers)
        self.runs, self.starting = {each.id: each for each in known}, set[str]()
        self.load = self.abandoned = self.retry_saves = self._nothing
        self.jobs: list[Job] = []

    async def _nothing(self, *_: object) -> frozenset[str]:
        return frozenset()

    def now(self) -> float:
        return NOW

    def open_runs(self) -> tuple[Run, ...]:
        return tuple(each for each in self.runs.values() if not each.is_over)

    def publish(self, known: Run) -> None:
        self.runs[known.id] = known

    async def update(self, known: Run) -> Run:
        self.runs[known.id] = known
        return known

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        del machine, deadline
        self.jobs.append(job)
        answer = self.answers.get(job.verb, {})
        if isinstance(answer, EvalroomError):
            raise answer
        found: Mapping[str, Any] = answer
        return found

    def reads(self) -> list[Job]:
        """The jobs that read logs."""
        return [job for job in self.jobs if job.verb == "logs"]


async def started(answers: Mapping[str, Any]) -> Run:
    """Start a run on a machine with these answers; return its state."""

    async def provision(made: RunPlan, on_progress: OnProgress) -> ProvisionedRun:
        del made, on_progress
        return ProvisionedRun()

    made = plan(spec())
    poll: Any = answers["poll"]
    if not isinstance(poll, EvalroomError):
        poll = {"runs": [{**row, "run": made.run} for row in poll["runs"]]}
    there: Any = There({**answers, "poll": poll})
    known = new_run(made, at=NOW, operator="Ada", launch=made.run)
    starter = RunStarter(desk=there, registry=there, provision=provision)
    return await starter.start(made, known, {})


ALIVE = {"there": True, "started": True, "alive": True, "pid": 7, "start": "b-1"}
GARBAGE = {"status": 0, "out": "Welcome\x1b[?1034h {", "err": ""}


async def test_a_start_that_says_nothing_readable_runs_if_its_process_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.launch.run.run_starter._WATCHED_WAIT_S", 0.01)
    found = await started({"start": GARBAGE, "poll": {"runs": [ALIVE]}})
    assert (found.state, found.pid, found.message) == (RunState.RUNNING, 7, "")


async def test_a_start_that_failed_although_its_eval_wrote_logs_is_read_from_them() -> None:
    row = {**ALIVE, "alive": False, "pid": None, "logs": [{"path": "/a.eval"}]}
    failed = {"status": 1, "out": "", "err": "the output of a whole eval"}
    assert (await started({"start": failed, "poll": {"runs": [row]}})).state is RunState.FINISHING


async def test_a_start_that_failed_and_left_nothing_says_why() -> None:
    failed = {"status": 1, "out": "", "err": "Task named 'nope' not found."}
    row = {**ALIVE, "alive": False, "pid": None}
    found = await started({"start": failed, "poll": {"runs": [row]}})
    assert (found.state, found.is_over) == (RunState.ERROR, True)
    assert "has no task nope" in found.message


async def test_a_start_whose_folder_cannot_be_looked_at_is_not_called_failed() -> None:
    found = await started({"start": GARBAGE, "poll": RequestFailed("the link was lost")})
    assert found.state is RunState.STARTING
    assert "evalroom is checking whether the run started" in found.message


SECRET = {"task": "t", "model": "m", "secrets": {"AWS_SECRET_ACCESS_KEY": "aws"}}


async def secrets(names: Sequence[str]) -> Mapping[str, str]:
    """The secrets of this operator."""
    if names != ("aws",):
        raise EvalroomError("there is no such secret")
    return {"aws": "hidden"}


def ended(**more: Any) -> Run:
    """A run whose process is gone."""
    return run(
        9, RunState.FINISHING, machine=H1, started_at=NOW - 600, spec=MappingProxyType(SECRET),
        **more,
    )  # fmt: skip


GONE = {
    "there": True,
    "started": True,
    "alive": False,
    "is_here": True,
    "out": '{"event": "launch"}',
}


def with_rows(known: Run, **answers: Any) -> Any:
    """A machine on which the process of a run is gone."""
    return There({"poll": {"runs": [{**GONE, "run": known.id}]}, **answers}, known)


@pytest.mark.parametrize(
    ("log_dir", "more", "given"),
    [
        ("s3://bucket/logs", {}, {"AWS_SECRET_ACCESS_KEY": "hidden"}),
        ("/data/logs", {}, {}),
        ("s3://bucket/logs", {"is_ours": False}, {}),
        ("s3://bucket/logs", {"spec": MappingProxyType({"secrets": {"A": "no-such"}})}, {}),
        ("s3://bucket/logs", {"spec": MappingProxyType({"secrets": 7})}, {}),
    ],
)
async def test_logs_at_a_url_are_read_with_the_runs_own_secrets(
    log_dir: str, more: dict[str, Any], given: dict[str, str]
) -> None:
    known = replace(ended(), log_dir=log_dir, **more)
    there = with_rows(known, logs={"reports": [{"run": known.id, "error": "NoCredentialsError"}]})
    await RunPoller(there, there, open_secrets=secrets, delay_discovery=False).poll_once()
    [job] = there.reads()
    assert job.secrets == given
    assert "hidden" not in repr(job)
    found = there.runs[known.id]
    assert (found.state, found.is_over) == (RunState.UNREADABLE, False)
    assert "NoCredentialsError" in found.message


async def test_logs_that_cannot_be_read_are_read_again_when_they_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = ended(log_dir="logs")
    there = with_rows(known, logs={"reports": [{"run": known.id, "error": "bad"}]})
    poller = RunPoller(there, there, open_secrets=secrets, delay_discovery=True)
    clock = SimpleNamespace(at=1_000.0)
    loop = SimpleNamespace(time=lambda: clock.at)
    monkeypatch.setattr(
        "core.launch.run.run_poller.asyncio",
        SimpleNamespace(get_running_loop=lambda: loop, gather=asyncio.gather),
    )

    async def go_on(seconds: float, rounds: int) -> int:
        before = len(there.reads())
        for _ in range(rounds):
            clock.at += seconds
            await poller.poll_once()
        return len(there.reads()) - before

    assert await go_on(3.0, 4) == 4
    assert there.runs[known.id].state is RunState.FINISHING, "it may be readable soon"
    await go_on(61.0, 2)
    assert there.runs[known.id].state is RunState.UNREADABLE
    assert await go_on(61.0, 8) == 0, "nothing changed"
    assert await go_on(61.0, 4) == 1, "ten minutes are over"
    row = {**GONE, "run": known.id, "logs": [{"path": "/a.eval", "size": 9}]}
    there.answers["poll"] = {"runs": [row]}
    success = {"log": "/a.eval", "header": {"status": "success", "eval": {"task": "t"}}}
    there.answers["logs"] = {"reports": [{"run": known.id, "logs": [success]}]}
    assert await go_on(61.0, 1) == 1, "its log changed"
    assert there.runs[known.id].state is RunState.SUCCESS


@pytest.mark.parametrize("first", ["node1", "node2"])
async def test_a_run_in_a_shared_home_is_listed_under_the_machine_where_it_ran(first: str) -> None:
    name = "20260101-000000-aaaaaaaa"
    about = {"run": name, "at": 5, "operator": "Bob", "task": "t", "model": "m", "log_dir": "logs"}
    success = {"log": "/a.eval", "header": {"status": "success", "eval": {"task": "t"}}}
    answered: list[str] = []
    asked: list[str] = []

    class Nodes(There):
        """Two machines with one home; one of them answers first."""

        async def work(
            self, machine: MachineName, job: Job, *, deadline: float
        ) -> Mapping[str, Any]:
            del deadline
            if job.verb == "logs":
                while machine != first and first not in answered:  # noqa: ASYNC110
                    await asyncio.sleep(0)
                answered.append(machine)
                return {"reports": [{"run": name, "logs": [success]}]}
            asked.append(machine)
            while len(asked) < len(both):  # noqa: ASYNC110
                await asyncio.sleep(0)
            row = {**GONE, "run": name, "is_here": machine == "node1", "host": "n1"}
            return {"runs": [{**row, "manifest": about}]}

    there: Any = Nodes({})
    machine = there.fleet.machines[H1]
    both = {
        MachineName(each): replace(machine, name=MachineName(each)) for each in ("node1", "node2")
    }
    there.fleet = replace(there.fleet, machines=both)
    await RunPoller(there, there, open_secrets=secrets, delay_discovery=False).poll_once()
    found = there.runs[name]
    assert (found.machine, found.state, found.host) == ("node1", RunState.SUCCESS, "n1")


async def test_runs_of_others_are_reported_with_their_end_at_once() -> None:
    name = "20260101-000000-aaaaaaaa"
    about = {"run": name, "at": 5, "operator": "Bob", "task": "t", "model": "m", "log_dir": "logs"}
    success = {"log": "/a.eval", "header": {"status": "success", "eval": {"task": "t"}}}
    answers = {
        "list": {"runs": [{**GONE, "run": name, "manifest": about}]},
        "logs": {"reports": [{"run": name, "logs": [success]}]},
    }
    there: Any = There(answers)
    await RunPoller(there, there, open_secrets=secrets, delay_discovery=False).poll_once()
    assert there.runs[name].state is RunState.SUCCESS
    # If the logs can't be read now, the run is reported as its folder shows it.
    unread: Any = There({**answers, "logs": RequestFailed("lost")})
    await RunPoller(unread, unread, open_secrets=secrets, delay_discovery=False).poll_once()
    assert unread.runs[name].state is RunState.FINISHING


async def test_a_lost_run_that_somebody_resumed_is_read_again_when_its_logs_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for pause in ("_SELDOM_S", "_SOON_S"):
        monkeypatch.setattr(f"core.launch.run.run_poller.{pause}", 0.0)
    header = {"status": "started", "eval": {"task": "t", "model": "m", "task_id": "a"}}
    over = {**header, "status": "success", "completed_at": "1970-01-12T13:46:30+00:00"}
    lost = replace(ended(), state=RunState.LOST, ended_at=NOW - 500)
    row = {**GONE, "run": lost.id, "logs": [["/l/a.eval", 1.0]]}
    report = {"run": lost.id, "logs": [{"log": "/l/a.eval", "header": header}], "others": 0}
    there: Any = There({"poll": {"runs": [row]}, "logs": {"reports": [report]}}, lost)
    there.open_runs = lambda: tuple(there.runs.values())
    poller = RunPoller(there, there, open_secrets=secrets, delay_discovery=False)
    await poller.poll_once()
    assert there.runs[lost.id].state is RunState.LOST

    async def polled_again() -> Run:
        await poller.poll_once()
        found: Run = there.runs[lost.id]
        return found

    reads = len(there.reads())
    assert (await polled_again()).state is RunState.LOST
    assert len(there.reads()) == reads, "its logs had not changed"
    there.answers["poll"] = {"runs": [{**row, "logs": [["/l/b.eval", 2.0]]}]}
    newer = {"log": "/l/b.eval", "header": over}
    there.answers["logs"] = {"reports": [{**report, "logs": [newer]}]}
    done = await polled_again()
    assert (done.state, done.ended_at) == (RunState.SUCCESS, NOW - 10)
