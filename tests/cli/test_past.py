"""The headless commands know the evals that a watch saw, after they ended too."""

import json
from typing import Any

from tests.support.commands import Home
from tests.support.evals import Evals
from tests.support.waiting import WAIT_S


def test_an_eval_that_a_watch_saw_is_known_after_its_end(home: Home, evals: Evals) -> None:
    data_dir = evals.folder / "shared"
    home.watch_here(data_dir)
    ends = evals.start(
        "errors", args={"samples": 3, "sleep": 0.05}, data_dir=data_dir,
        options=("--no-fail-on-error",), keep=True,
    )  # fmt: skip
    dies = evals.start("turns", args={"samples": 2, "sleep": 3_600}, data_dir=data_dir)
    for one in (ends, dies):
        one.wait_ready()
    ends.wait_finished()
    dies.wait_rows(bool)
    watch = home.start("watch", "--json", "--for", "600")
    assert watch.stdout is not None
    logs, running = set[str](), False
    while not (logs and running):
        event = json.loads(watch.stdout.readline())
        if event["event"] == "LogRead":
            logs.add(event["header"]["status"])
        if event["event"] == "TasksSeen":
            running |= any(row["task"] == "turns" for row in event["rows"])
    watch.terminate()
    watch.wait(WAIT_S)
    watch.stdout.close()
    ends.release()
    dies.kill()  # while no evalroom is open

    answer = home.run("status", "--json").json
    tasks: dict[str, Any] = {row["task"]: row for row in answer["tasks"]}
    assert (tasks["errors"]["state"], tasks["turns"]["state"]) == ("success", "lost")
    assert tasks["errors"]["log"]["samples"]["errored"] == 2
    assert {group["cause"] for group in tasks["errors"]["log"]["errors"]} == {
        "ConnectionError: sample N lost its sandbox",
        "ValueError: sample N can never be read (red [bold]b[…])",
    }
    assert tasks["turns"]["log"]["status"] == "started"
    listed = home.run("samples", "errors", "--json").json
    assert listed["counts"] == {"completed": 1, "error": 2, "cancelled": 0, "abandoned": 0}
    assert [row["sample_id"] for row in listed["samples"] if row["status"] == "error"]
    withheld = home.run("sample", "errors", "3", "--json").json
    assert withheld["error"] == {}
    shown = home.run("sample", "errors", "3", "--content", "--json").json
    assert shown["error"]["message"].startswith("ValueError('sample 3 can never be read")
    printed = home.run("sample", "errors", "3", "--content").out.splitlines()
    assert printed[printed.index("error") + 1].startswith("ValueError('sample 3 can never be read")
    assert printed[-1].startswith("ValueError: sample 3 can never be read"), (
        "its traceback is whole"
    )
