"""An outage: the calls to one model wait for retries or hang, over several samples and tasks."""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import duration_in_words, plural
from core.judge.levels import power_below
from core.judge.model_use import SILENT, ModelUse, machines_in_words, uses_now
from core.judge.sign import Kind, Scene, Sign, Signs, signs
from core.judge.standing import standing
from core.model.finding import Severity
from core.text import shown

_SAMPLES = JudgeRule(
    kind="outage", name="samples", default=3, unit="samples",
    help="Samples whose calls wait or hang, at least.",
)  # fmt: skip
_SHARE = JudgeRule(
    kind="outage", name="share", default=50, unit="percent", high=100,
    help="Part of the calls to a model that waits or hangs, at least.",
)  # fmt: skip
_ALARM = JudgeRule(
    kind="outage", name="alarm", default=300, unit="seconds",
    help="An outage that lasts longer is an alarm.",
)  # fmt: skip
_EASES = 0.5


def _signs(scene: Scene) -> Signs | None:
    found = [
        sign
        for model, use in uses_now(scene).items()
        if (sign := _sign(scene, model, use)) is not None
    ]
    return signs(scene.at, found)


def _sign(scene: Scene, model: str, use: ModelUse) -> Sign | None:
    # The retries of one task alone are a retry storm of that task.
    affected = use.affected if len(use.tasks) > 1 else use.silent
    eases = _EASES if model in scene.open else 1.0
    if not affected or affected < scene.rules.number(_SAMPLES) * eases:
        return None
    if 100.0 * affected / use.calls < scene.rules.number(_SHARE) * eases:
        return None
    last = standing(scene.fleet, "outage", model)
    after = scene.rules.number(_ALARM)
    lasts = last is not None and scene.at - last.opened_at >= after
    severity: Severity = "alarm" if lasts else "suspect"
    machines = tuple(use.machines)
    places = f"{plural(len(use.tasks), 'task')} on {machines_in_words(machines)}"
    begin = f"{shown(model, 80)} fails or throttles: {power_below(affected)} samples or more"
    what = "wait for a retry" if use.waiting >= use.silent else "have no answer"
    longer = f" for over {duration_in_words(after).removesuffix(' 00s')}" if lasts else ""
    return Sign(
        key=model,
        severity=severity,
        reading=use.reading,
        text=sentences(
            f"{begin} of {places} {what}{longer}",
            "See the status of its provider; pause the model to keep samples from erroring",
        ),
        since=None,
        closes_when="most calls to the model are answered",
        machine=machines[0] if len(machines) == 1 else None,
        model=model,
        count=power_below(affected),
    )


KIND = Kind(
    name="outage",
    help="The calls to one model wait for retries or hang, over several samples and tasks.",
    numbers=(_SAMPLES, _SHARE, SILENT, _ALARM),
    of_fleet=_signs,
)
