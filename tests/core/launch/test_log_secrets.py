"""The variables that the log of a run is read with."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.desk.log_access import MAX_VARIABLES_BYTES, with_access
from core.errors import SecretMissing
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.run.log_secrets import variables_of_log
from core.model.run import Run, RunState
from core.watch.log_reads import batch_of, logs_frame, unread_tasks
from tests.support.fleets import H1, fleet_after, process_seen, task_key, task_row, tasks_seen

OURS = Run(
    id="20260101-000000-aaaaaaaa", machine=H1, at=900.0, operator="Ada", state=RunState.RUNNING,
    task="t", model="m/x", log_dir="s3://bucket/x",
    spec={"env": {"AWS_ENDPOINT_URL": "http://s3"}, "secrets": {"AWS_SECRET_ACCESS_KEY": "KEY"}},
)  # fmt: skip
ENV = {"AWS_ENDPOINT_URL": "http://s3"}
SECRET = {"AWS_SECRET_ACCESS_KEY": "value"}


async def opened(names: Sequence[str]) -> dict[str, str]:
    assert list(names) == ["KEY"]
    return {"KEY": "value"}


@pytest.mark.parametrize(
    ("run", "location", "variables"),
    [
        (OURS, "s3://bucket/x/a.eval", {**ENV, **SECRET}),
        (replace(OURS, log_dir="s3://bucket/x/"), "s3://bucket/x/a.eval", {**ENV, **SECRET}),
        (OURS, "s3://bucket/xyz/a.eval", {}),
        (OURS, "s3://another/a.eval", {}),
        (OURS, "/tmp/a.eval", {}),
        (replace(OURS, log_dir="/logs"), "s3://bucket/x/a.eval", {}),
        (replace(OURS, is_ours=False), "s3://bucket/x/a.eval", ENV),
        (
            replace(OURS, log_dir="/logs", spec={"env": {"PYTHONPATH": "/inspect", "A": "b"}}),
            "/logs/a.eval",
            {"PYTHONPATH": "/inspect"},
        ),
    ],
)
async def test_only_a_log_in_the_folder_of_our_run_is_read_with_its_secrets(
    run: Run, location: str, variables: dict[str, str]
) -> None:
    assert await variables_of_log(run, location, opened) == variables


async def test_without_a_secret_a_log_is_read_with_the_environment_alone() -> None:
    async def missing(names: Sequence[str]) -> dict[str, str]:
        raise SecretMissing(tuple(names))

    assert await variables_of_log(OURS, "s3://bucket/x/a.eval", missing) == ENV


def _ended(run: str | None) -> Fleet:
    row = task_row(status="completed", log_location="s3://bucket/x/a.eval")
    return fleet_after(process_seen(run=run), tasks_seen(row))


@pytest.mark.parametrize(
    ("run", "value", "is_sent"),
    [
        (OURS.id, "v", True),
        (None, "v", False),
        (OURS.id, "v" * MAX_VARIABLES_BYTES, False),
        (OURS.id, "é" * (MAX_VARIABLES_BYTES // 2), False),  # six bytes each, as JSON
    ],
)
async def test_a_read_bears_the_variables_of_the_tasks_run(
    run: str | None, value: str, is_sent: bool
) -> None:
    async def variables(
        fleet: Fleet, machine: MachineName, run: str, location: str
    ) -> dict[str, str]:
        assert (machine, run, location) == (H1, OURS.id, "s3://bucket/x/a.eval")
        assert fleet.tasks
        return {"A": value}

    fleet = _ended(run)
    frame = logs_frame(fleet, (task_key(),))
    read = await with_access(frame, fleet, task_key(), variables)
    assert read.head.get("variables") == ({"A": "v"} if is_sent else None)
    assert {**read.head, "variables": None} == {**frame.head, "variables": None}


def test_logs_at_urls_are_read_process_by_process() -> None:
    row = task_row(status="completed", log_location="s3://bucket/x/a.eval")
    fleet = fleet_after(
        process_seen(python="/a/python"), process_seen(pid=200, python="/a/python"),
        tasks_seen(row), tasks_seen(row, pid=200),
    )  # fmt: skip
    keys = unread_tasks(fleet, H1)
    assert len(keys) == 2
    assert batch_of(fleet, keys) == keys[:1]


def test_a_log_at_another_url_is_not_read_with_the_secrets_of_the_one_before() -> None:
    """The variables of a read are those of its first log; an eval may name any others."""
    places = ("s3://bucket/x/a.eval", "s3://bucket/x/b.eval", "s3://another/c.eval")
    rows = [
        task_row(f"t{number}", status="completed", log_location=location)
        for number, location in enumerate(places)
    ]
    fleet = fleet_after(process_seen(python="/a/python"), tasks_seen(*rows))
    assert batch_of(fleet, [task_key(f"t{number}") for number in range(3)]) == (
        task_key("t0"), task_key("t1"),
    )  # fmt: skip
