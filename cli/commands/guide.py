"""`evalroom guide ...`: a checklist without the room, with the same previews and orders."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cli.commands.desk_queries import Looker
from cli.commands.status import NOBODY_REACHED
from cli.render.fleet_json import Json, plain_json
from cli.render.plain import print_json, print_lines
from cli.render.plans import act_answer, outcome_lines, plan_lines
from core.act.executor import OrderReport
from core.act.plan import Plan
from core.act.target_expansion import ActionPlace, live_processes
from core.act.target_grammar import TargetSpec, places_of
from core.errors import NotConfirmed, TargetUnclear, UsageWrong
from core.fleet import Fleet
from core.guide.guide import Guide, GuideKind, was_stopped
from core.guide.runner import GuideRunner
from core.ids import ModelKey, ProcessKey, SampleKey, TaskKey
from core.model.action import Action, Verb
from core.model.order import OrderState
from core.text import shown
from core.views.tables.guides import plain_lines, state_of

FAILED, REFUSED = 1, 4
_ONE_A_TIME = frozenset({GuideKind.INCIDENT, GuideKind.FINISH})
"""Kinds of which each step is asked for by a command of its own."""
_RECENT = 200
LISTED = 50
"""Guides that `guide list` prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideAsked:
    """What a command line asks for.

    Attributes:
        what: `park`, `incident`, `finish`, `cleanup` or `resume`.
        targets: As typed; for `resume` the id of a guide.
        confirm: Words that steps may ask for.
    """

    what: str
    targets: Sequence[str] = ()
    model: str | None = None
    now: bool = False
    others: bool = False
    skip: bool = False
    stop: bool = False
    dry_run: bool = False
    yes: bool = False
    confirm: Sequence[str] = ()
    timeout: float = 15.0
    as_json: bool = False


def guide_asked(given: Mapping[str, Any], *, as_json: bool) -> GuideAsked:
    """Return what the words mean.

    Raises:
        UsageWrong: An option is none of that guide's.
    """
    goes_with = {"model": "incident", "now": "incident", "others": "cleanup"}
    goes_with |= {"skip": "resume", "stop": "resume"}
    for option, what in goes_with.items():
        if given[option] and given["what"] != what:
            raise UsageWrong(f"--{option} goes with: evalroom guide {what}")
    rest = {name: value for name, value in given.items() if name not in {"wait", "confirm"}}
    confirm = tuple(given["confirm"])
    return GuideAsked(**rest, confirm=confirm, timeout=given["wait"], as_json=as_json)


async def guide(desk: Looker, guiding: GuideRunner, asked: GuideAsked) -> int:
    """Begin guides, or go on with one, as far as is confirmed; return the exit status.

    0: done, or waiting for what it was begun for; 1: something failed; 3: nothing reachable;
    4: refused, or not confirmed: it stays open, and `guide resume` goes on.

    Raises:
        UsageWrong: The words are off.
    """
    await desk.first_look(asked.timeout)
    if not any(each.is_reached for each in desk.fleet.machines.values()):
        reasons = [f"{shown(m.name)}: {m.link.state}" for m in desk.fleet.machines.values()]
        if asked.as_json:
            print_json({"guides": [], "why": reasons})
        else:
            print_lines(["no machine could be reached", *reasons])
        return NOBODY_REACHED
    runs = [_Run(guiding, each, asked) for each in await _guides(desk.fleet, guiding, asked)]
    status = 0
    for run in runs:
        status = max(status, await run.to_its_end())
    if asked.as_json:
        print_json({"dry_run": asked.dry_run, "guides": [run.answer() for run in runs]})
    return status


async def _guides(fleet: Fleet, guiding: GuideRunner, asked: GuideAsked) -> Sequence[Guide]:
    match asked.what:
        case "park":
            keys = _processes(fleet, asked.targets)
            return [await guiding.park(key) for key in keys]
        case "incident":
            if not asked.model:
                raise UsageWrong("which model? --model M", "exact names stand in: evalroom status")
            among = _processes(fleet, asked.targets) if asked.targets else None
            return [await guiding.incident(asked.model, among, now=asked.now)]
        case "finish":
            tasks = places_of(TargetSpec(targets=asked.targets), Action(verb=Verb.DRAIN), fleet)
            return [await guiding.finish(key) for key in tasks if isinstance(key, TaskKey)]
        case "cleanup":
            among = _processes(fleet, asked.targets) if asked.targets else None
            return [await guiding.cleanup(among, others=asked.others)]
        case _:
            return [await _taken_up(guiding, asked)]


def _processes(fleet: Fleet, targets: Sequence[str]) -> Sequence[ProcessKey]:
    """Return the processes that words aim at: their own, a task's, or a machine's."""
    places = places_of(TargetSpec(targets=targets), Action(verb=Verb.PAUSE), fleet)
    return list(dict.fromkeys(key for place in places for key in processes_at(fleet, place)))


def processes_at(fleet: Fleet, place: ActionPlace) -> Sequence[ProcessKey]:
    """Return the processes that a place means."""
    match place:
        case ProcessKey():
            return (place,)
        case TaskKey() | ModelKey():
            return (place.process,)
        case SampleKey():
            return (place.task.process,)
        case _:
            return live_processes(fleet, place)


async def _taken_up(guiding: GuideRunner, asked: GuideAsked) -> Guide:
    if len(asked.targets) != 1:
        raise UsageWrong("guide resume takes one ID", "see: evalroom guide list")
    typed = asked.targets[0]
    found = [each for each in await guiding.recent(_RECENT) if each.id.startswith(typed)]
    if len(found) != 1:
        what = "no guide" if not found else "several guides"
        raise TargetUnclear(f"{what} {shown(typed, 40)}", "see: evalroom guide list")
    if asked.dry_run:
        return found[0]
    taken = await guiding.take_up(found[0].id)
    if asked.stop:
        return await guiding.stop(taken.id)
    return await guiding.skip(taken.id) if asked.skip else taken


class _Run:
    """One guide, gone on with as far as is confirmed."""

    def __init__(self, guiding: GuideRunner, guide: Guide, asked: GuideAsked) -> None:
        self._guiding = guiding
        self._guide = guide
        self._asked = asked
        self._said: dict[int, str] = {}
        self._plans: list[Json] = []
        self._why = ""

    async def to_its_end(self) -> int:
        if self._asked.dry_run:
            return await self._dry_run()
        changed = asyncio.Event()
        end = self._guiding.listen(lambda _: changed.set())
        self._say_all()
        try:
            return await self._through(changed)
        finally:
            end()

    async def _dry_run(self) -> int:
        self._print(plain_lines(self._guide))
        if self._asked.what != "resume" and self._guide.waits:
            plan = await self._guiding.plan(self._guide.id)
            self._plans.append(act_answer(plan, None, dry_run=True, content=False))
            self._print(["", *plan_lines(plan, content=False)])
        return 0

    async def _through(self, changed: asyncio.Event) -> int:
        went = self._asked.skip
        while self._guide.is_open:
            if not self._guide.waits:
                await changed.wait()
                changed.clear()
                self._renew()
                continue
            if went and self._guide.kind in _ONE_A_TIME:
                return self._later("")
            status = await self._step()
            if status is not None:
                return status
            went = True
        return REFUSED if was_stopped(self._guide) and not self._asked.stop else 0

    async def _step(self) -> int | None:
        """Preview and carry out the step that waits; return the status where it ends there."""
        at = self._guide.current
        plan = await self._guiding.plan(self._guide.id)
        self._print(["", *plan_lines(plan, content=False)])
        if not plan.sent:
            self._renew()
            if self._guide.current != at:
                return None
            why = next((each.refusal.sentence for each in plan.steps if each.refusal), "")
            self._later(why)
            return REFUSED
        try:
            words = self._consent(plan)
        except NotConfirmed as error:
            self._plans.append(act_answer(plan, None, dry_run=True, content=False))
            self._later(f"{error.message}. {error.advice}".rstrip(". "))
            return REFUSED
        told = await self._guiding.carry_out(self._guide.id, plan, words=words, yes=True)
        self._plans.append(act_answer(plan, told, dry_run=False, content=False))
        self._print(["", *outcome_lines(told), ""])
        self._renew()
        if self._guide.waits and self._guide.current == at:
            self._later("")
            return FAILED if _failed(told) else REFUSED
        return None

    def _consent(self, plan: Plan) -> str:
        """Return the words that were given.

        Raises:
            NotConfirmed: Not enough was.
        """
        if plan.words and plan.words in self._asked.confirm:
            return plan.words
        if not plan.words and self._asked.yes:
            return ""
        how = f"--confirm {shown(repr(plan.words), 120)}" if plan.words else "--yes"
        if self._asked.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise NotConfirmed("this step is not confirmed, and was not sent", f"add {how}")
        answer = input(f"type {plan.words} to confirm: " if plan.words else "go on? [y/N] ")
        if plan.words:
            if answer.strip() == plan.words:
                return plan.words
        elif answer.strip().lower() in {"y", "yes"}:
            return ""
        raise NotConfirmed("this step is not confirmed, and was not sent")

    def _later(self, why: str) -> int:
        """Say how it goes on from here."""
        self._why = why
        said = [why] if why else []
        self._print(["", *said, f"it stays open; to go on: evalroom guide resume {self._guide.id}"])
        return 0

    def _renew(self) -> None:
        self._guide = self._guiding.guide(self._guide.id) or self._guide
        self._say_steps()

    def _say_all(self) -> None:
        self._print(plain_lines(self._guide))
        self._said = {at: str(step.state) for at, step in enumerate(self._guide.steps)}

    def _say_steps(self) -> None:
        """Print the steps that came to another state."""
        lines = plain_lines(self._guide)[1:]
        for at, step in enumerate(self._guide.steps):
            if self._said.get(at) != step.state:
                self._said[at] = str(step.state)
                self._print([lines[at]])

    def _print(self, lines: Sequence[str]) -> None:
        if not self._asked.as_json:
            print_lines(lines)

    def answer(self) -> Json:
        """Return it for JSON, with the plans that were made on the way."""
        extra: Json = {"plans": self._plans}
        if self._why:
            extra["why"] = self._why
        return {**guide_answer(self._guide), **extra}


def _failed(told: Sequence[OrderReport]) -> bool:
    bad = {OrderState.FAILED, OrderState.UNKNOWN}
    return any(each.outcome is not None and each.outcome.state in bad for each in told)


def guide_answer(guide: Guide) -> Json:
    """Return a guide as an object for JSON."""
    answer: Json = {
        "id": guide.id,
        "kind": str(guide.kind),
        "name": guide.name,
        "state": state_of(guide),
        "made_at": guide.made_at,
        "ended_at": guide.ended_at,
        "operator": guide.instance.operator,
        "from": {"host": guide.instance.host, "pid": guide.instance.pid},
        "command": shown(guide.command, 16_000),
        "variables": [shown(name, 100) for name in guide.variables],
        "notes": list(guide.notes),
    }
    answer["steps"] = [
        {
            "kind": str(step.kind),
            "title": step.title,
            "state": str(step.state),
            "sentence": step.sentence,
        }
        for step in guide.steps
    ]
    answer["targets"] = [plain_json(each) for each in guide.targets]
    return answer


def guide_list(guides: Sequence[Guide], *, as_json: bool) -> int:
    """Print guides, open ones first; return the exit status."""
    if as_json:
        print_json({"guides": [guide_answer(each) for each in guides]})
        return 0
    if not guides:
        print_lines(["no guide was begun yet: evalroom guide --help"])
    for each in guides:
        print_lines([*plain_lines(each), ""])
    return 0
