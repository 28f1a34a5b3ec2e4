"""A real eval errors while it runs: why is told meanwhile, and a requeue by another that passes."""

import json

import pytest

from core.ctl import routes
from core.event_codec import line_of
from core.model.task import Task
from tests.support.desk_on_evals import watching_eval
from tests.support.evals import Evals
from tests.support.waiting import wait_until

WORDS = "the answer is 'secret': line 7 of /data/ID.json"
SCRIPT = {
    "samples": 4,
    "steps": ["tool 10000"],
    "others": {"s001": [f"stumble {WORDS}"], "s002": [f"error {WORDS}"], "s003": ["sleep 1"]},
}


@pytest.mark.slow
async def test_the_cause_is_told_and_a_requeue_of_someone_else(evals: Evals) -> None:
    script = evals.folder / "script.json"
    script.write_text(json.dumps(SCRIPT))
    options = ("--max-samples=4", "--no-fail-on-error")
    one = evals.start("scripted", args={"script": script}, options=options).wait_ready()
    wait_until(lambda: one.task()["samples"]["errored"] == 2, "two samples have errored", 60)
    async with watching_eval(one) as watched:

        def task() -> Task | None:
            found = watched.task(one, "scripted")
            return found if found is not None and found.errors else None

        known = await watched.until(task, "why they errored")
        [group] = known.errors
        assert (group.cause, group.count) == (
            "RuntimeError: the answer is '…': line N of …",
            2,
        )
        assert not any("secret" in line_of(event) for event in watched.events)
        one.post(f"{routes.path('evals', known.row.eval_id, 'sample', 'requeue')}"
                 "?sample_id=s001&epoch=1")  # fmt: skip

        def told() -> bool:
            texts = [each.text for each in watched.fleet.findings if each.kind == "milestone"]
            return "Sample s001/1 passed after its requeue" in texts

        await watched.until(told, "the requeue passed", 60)
