"""Lacks of an older Inspect are reported with the version that helps; nothing is half applied."""

from collections.abc import Mapping

import pytest

from core.ids import ModelKey, SampleKey, Target
from core.model.action import Action, Change, Verb
from core.model.order import OrderState
from core.views.actions.action_menu import entries
from tests.compat.test_old_inspect import VERSIONS, python_with
from tests.support.acting import Acted, acting_on_eval
from tests.support.evals import Eval, Evals

pytestmark = pytest.mark.slow

_SOFT, _HARD = Action(verb=Verb.PAUSE), Action(verb=Verb.PAUSE, now=True)
_RESUME, _DRAIN = Action(verb=Verb.RESUME), Action(verb=Verb.DRAIN)
_CANCEL = Action(verb=Verb.CANCEL, manner="cancel")
_SCORE, _CALL = Action(verb=Verb.SCORE), Action(verb=Verb.CANCEL_CALL)
_KEEP, _RELEASE = Action(verb=Verb.KEEP), Action(verb=Verb.RELEASE)
_SAMPLES = Action(verb=Verb.CONFIG, changes=(Change("max_samples", 3),))
_LIMIT = Action(verb=Verb.CONFIG, changes=(Change("time_limit", 900),))
_IDLE = Action(verb=Verb.CONFIG, changes=(Change("stream_idle_timeout", 60),))

LACKS: Mapping[str, Mapping[str, str]] = {
    "0.3.246": {
        "soft": "0.3.250", "hard": "0.3.260", "drain": "0.3.265", "cancel": "0.3.250",
        "score": "0.3.265", "call": "0.3.265", "model": "0.3.252", "samples": "0.3.250",
        "limit": "0.3.250", "idle": "0.3.250",
    },
    "0.3.252": {
        "hard": "0.3.260", "drain": "0.3.265", "score": "0.3.265", "call": "0.3.265",
        "limit": "knob time_limit", "idle": "knob stream_idle_timeout",
    },
    "0.3.260": {
        "drain": "0.3.265", "score": "0.3.265", "call": "0.3.265",
        "idle": "knob stream_idle_timeout",
    },
}  # fmt: skip
"""By version: an action that it can't do, and the words of the refusal."""


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


async def test_missing_features_are_unavailable_and_the_others_work(
    version: str, evals: Evals
) -> None:
    one = evals.start(
        "turns", args={"samples": 30, "turns": 300}, keep=False,
        options=("--max-samples=2",), python=python_with(version),
    ).wait_ready()  # fmt: skip
    one.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] > 0)
    async with acting_on_eval(one) as acted:
        task = await acted.task(one)
        process = task.process
        sample = SampleKey(task, "s001", 1)
        tried: dict[str, tuple[Action, Target]] = {
            "hard": (_HARD, task),
            "soft": (_SOFT, task),
            "resume": (_RESUME, task),
            "model": (_SOFT, ModelKey(process, "mock/talker")),
            "resume model": (_RESUME, ModelKey(process, "mock/talker")),
            "score": (_SCORE, task),
            "call": (_CALL, sample),
            "samples": (_SAMPLES, task),
            "limit": (_LIMIT, task),
            "idle": (_IDLE, task),
            "keep": (_KEEP, process),
            "release": (_RELEASE, process),
            "drain": (_DRAIN, task),
            "cancel": (_CANCEL, task),
        }
        lacks = dict(LACKS[version])
        if "soft" in lacks:
            lacks["resume"] = "0.3.250"
        if "model" in lacks:
            lacks["resume model"] = "0.3.252"
        for name, (action, target) in tried.items():
            if name in lacks:
                await _is_unavailable(acted, action, target, lacks[name])
            elif name == "hard":
                assert (await acted.one(action, target))[0] is OrderState.DONE
                assert one.task()["paused_now"] == ["task"]
            elif name == "call":
                assert (await acted.one(action, target))[0] is OrderState.NO_CHANGE
            else:
                state, message = await acted.one(action, target)
                assert state is OrderState.DONE, (name, message)
        _nothing_is_left_of_what_it_lacks(one, version)


async def _is_unavailable(acted: Acted, action: Action, target: Target, named: str) -> None:
    before = len(acted.sent)
    wire = len(acted.wire)
    plan = await acted.plan(action, target)
    [step] = plan.steps
    assert not step.is_sent
    assert step.refusal is not None
    assert step.refusal.kind == "unsupported", step.refusal
    assert named in step.refusal.sentence
    assert "pip install -U 'inspect-ai>=" in step.refusal.sentence
    assert len(acted.sent) == before
    # Not even a dry run: a server that does not know the word would act on it.
    assert all(frame.kind != "send" for frame in acted.wire[wire:])


def _nothing_is_left_of_what_it_lacks(one: Eval, version: str) -> None:
    if one.popen.poll() is not None:
        return  # it was cancelled, as asked
    row = one.task()
    assert row.get("resolving") is None
    if version == "0.3.246":
        assert row.get("paused") in {None, ()}


async def test_a_menu_says_what_it_lacks_before_anything_is_asked(
    version: str, evals: Evals
) -> None:
    one = evals.start(
        "turns", args={"samples": 30, "turns": 300}, python=python_with(version)
    ).wait_ready()  # fmt: skip
    async with acting_on_eval(one) as acted:
        task = await acted.task(one)
        await acted.acting.learn([task.process], patience=10)
        offered = {each.name: each for each in entries(acted.watched.fleet, [task])}
        drain = offered["drain"].why_not
        assert drain is not None
        assert "0.3.265" in drain
        assert "pip install" in drain
        assert offered["flush"].why_not is None
        assert all(frame.kind == "get" for frame in acted.wire)
