"""`evalroom guide ...`: a checklist without the room, with the same previews and orders."""

import asyncio
from collections.abc import Sequence

from cli.commands.desk_protocols import DeskReader
from cli.commands.first_poll import first_poll
from cli.commands.silence import found_target
from cli.commands.status import NOBODY_REACHED
from cli.confirm import confirm
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.guide import GuideCommand, GuideListCommand
from cli.render.fleet_json import Json, plain_json
from cli.render.plain import print_json, print_lines
from cli.render.plans import act_answer, outcome_lines, plan_lines
from cli.wiring.actions import acting_of, guiding_of
from cli.wiring.config import config_of
from cli.wiring.desk import desk_of, running
from cli.wiring.history import history_of
from core.act.executor import OrderReport
from core.act.target_expansion import ActionPlace, live_processes
from core.act.target_grammar import TargetSpec, places_of
from core.errors import MachineError, NotConfirmed, TargetUnclear, UsageWrong
from core.fleet import Fleet
from core.guide.guide import Guide, GuideKind, StepKind, was_stopped
from core.guide.runner import GuideRunner
from core.ids import ModelKey, ProcessKey, SampleKey, TaskKey
from core.model.action import Action, Verb
from core.model.order import OrderState
from core.text import shown
from core.views.tables.guides import plain_lines, state_of
from storage.guides import read_guides
from storage.paths import paths

FAILED, REFUSED = 1, 4
_ONE_A_TIME = frozenset({GuideKind.INCIDENT, GuideKind.FINISH})
"""Kinds of guides that advance one step per command."""
_RECENT = 200
_LISTED = 50
"""The most guides that `guide list` prints."""


def guide(command: GuideCommand, options: GlobalOptions) -> int:
    """Run `evalroom guide`; return the exit status."""

    async def work() -> int:
        config = config_of(options)
        async with history_of(config, paths()) as history:
            if command.what == "resume":
                history.require()
            with desk_of(config, options.record, event_store=history.brief_store) as desk:
                acting = acting_of(desk, history)
                guiding = guiding_of(desk, acting, history, dry_run=command.dry_run)
                async with running(desk, acting, guiding):
                    return await follow(desk, guiding, command)

    return run_loop(work())


def guide_list(command: GuideListCommand, options: GlobalOptions) -> int:
    """Run `evalroom guide list`: print guides, open ones first; return the exit status."""
    del options
    guides = read_guides(paths().database, _LISTED)
    if command.as_json:
        print_json({"guides": [guide_answer(each) for each in guides]})
        return 0
    if not guides:
        print_lines(["no guide has been started yet; see: evalroom guide --help"])
    for each in guides:
        print_lines([*plain_lines(each), ""])
    return 0


async def follow(desk: DeskReader, guiding: GuideRunner, command: GuideCommand) -> int:
    """Start guides, or continue one, until a step is not confirmed; return the exit status.

    0: done, or the guide waits as intended; 1: something failed; 3: no machine could be reached;
    4: refused, or not confirmed: the guide stays open, and `guide resume` continues it.

    Raises:
        UsageWrong: The targets are wrong.
    """
    until = asyncio.get_running_loop().time() + command.timeout
    polled = await first_poll(desk, command.timeout)
    if not any(each.is_reached for each in desk.fleet.machines.values()):
        reasons = [f"{shown(m.name)}: {m.link.state}" for m in desk.fleet.machines.values()]
        if command.as_json:
            print_json({"guides": [], "why": reasons})
        else:
            print_lines(["no machine could be reached", *reasons])
        return NOBODY_REACHED
    guides = await found_target(
        desk, lambda: _guides(desk.fleet, guiding, command), polled=polled, until=until
    )
    walks = [_Walk(guiding, each, command) for each in guides]
    status = 0
    for walk in walks:
        status = max(status, await walk.to_its_end())
    if command.as_json:
        print_json({"dry_run": command.dry_run, "guides": [walk.answer() for walk in walks]})
    return status


async def _guides(fleet: Fleet, guiding: GuideRunner, command: GuideCommand) -> Sequence[Guide]:
    match command.what:
        case "interrupt" | "finish" if not command.targets:
            raise UsageWrong(f"`guide {command.what}` needs a TARGET", "see: evalroom guide --help")
        case "interrupt":
            keys = _processes(fleet, command.targets)
            return [await guiding.interrupt(key) for key in keys]
        case "incident":
            if not command.model:
                raise UsageWrong(
                    "`guide incident` needs a model",
                    "add --model M; evalroom status prints the exact names",
                )
            among = _processes(fleet, command.targets) if command.targets else None
            return [await guiding.incident(command.model, among, now=command.now)]
        case "finish":
            tasks = places_of(TargetSpec(targets=command.targets), Action(verb=Verb.DRAIN), fleet)
            return [await guiding.finish(key) for key in tasks if isinstance(key, TaskKey)]
        case "cleanup":
            among = _processes(fleet, command.targets) if command.targets else None
            return [await guiding.cleanup(among, others=command.others)]
        case _:
            return [await _taken_up(guiding, command)]


def _processes(fleet: Fleet, targets: Sequence[str]) -> Sequence[ProcessKey]:
    """Return the processes of targets: processes, or all those of tasks and machines."""
    places = places_of(TargetSpec(targets=targets), Action(verb=Verb.PAUSE), fleet)
    return list(dict.fromkeys(key for place in places for key in processes_at(fleet, place)))


def processes_at(fleet: Fleet, place: ActionPlace) -> Sequence[ProcessKey]:
    """Return the processes of a target."""
    match place:
        case ProcessKey():
            return (place,)
        case TaskKey() | ModelKey():
            return (place.process,)
        case SampleKey():
            return (place.task.process,)
        case _:
            return live_processes(fleet, place)


async def _taken_up(guiding: GuideRunner, command: GuideCommand) -> Guide:
    if len(command.targets) != 1:
        raise UsageWrong("`guide resume` takes one ID", "see: evalroom guide list")
    typed = command.targets[0]
    found = [each for each in await guiding.recent(_RECENT) if each.id.startswith(typed)]
    if len(found) != 1:
        what = "the IDs of several guides begin" if found else "no guide's ID begins"
        raise TargetUnclear(f"{what} with {shown(typed, 40)}", "see: evalroom guide list")
    if command.dry_run:
        return found[0]
    taken = await guiding.take_over(found[0].id)
    if command.stop:
        return await guiding.stop(taken.id)
    return await guiding.skip(taken.id) if command.skip else taken


class _Walk:
    """Follows one guide until a step is not confirmed."""

    def __init__(self, guiding: GuideRunner, guide: Guide, command: GuideCommand) -> None:
        self._guiding = guiding
        self._guide = guide
        self._command = command
        self._printed: dict[int, str] = {}
        self._plans: list[Json] = []
        self._why = ""

    async def to_its_end(self) -> int:
        if self._command.dry_run:
            return await self._dry_run()
        changed = asyncio.Event()
        end = self._guiding.listen(lambda _: changed.set())
        self._print_all()
        try:
            return await self._through(changed)
        finally:
            end()

    async def _dry_run(self) -> int:
        self._print(plain_lines(self._guide))
        step = self._guide.step
        if step is not None and step.kind is StepKind.CONTAINERS:
            removal = await self._guiding.removal(self._guide.id)
            self._print(["", removal.title, *(f"  {line}" for line in removal.lines)])
        elif self._command.what != "resume" and self._guide.waits:
            plan = await self._guiding.plan(self._guide.id)
            self._plans.append(act_answer(plan, None, dry_run=True, content=False))
            self._print(["", *plan_lines(plan, content=False)])
        return 0

    async def _through(self, changed: asyncio.Event) -> int:
        went = self._command.skip
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
        return REFUSED if was_stopped(self._guide) and not self._command.stop else 0

    async def _step(self) -> int | None:
        """Preview and carry out the waiting step.

        Returns:
            The exit status if the command ends here, else None.
        """
        step = self._guide.step
        if step is not None and step.kind is StepKind.CONTAINERS:
            return await self._remove()
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
            await confirm(
                self._command.consent,
                question=plan.title,
                words=plan.words,
                otherwise="this step was not sent",
                may_ask=not self._command.as_json,
            )
        except NotConfirmed as error:
            self._plans.append(act_answer(plan, None, dry_run=True, content=False))
            self._later(error.sentence)
            return REFUSED
        reports = await self._guiding.carry_out(self._guide.id, plan, words=plan.words, yes=True)
        self._plans.append(act_answer(plan, reports, dry_run=False, content=False))
        self._print(["", *outcome_lines(reports), ""])
        self._renew()
        if self._guide.waits and self._guide.current == at:
            self._later("")
            return FAILED if _failed(reports) else REFUSED
        return None

    async def _remove(self) -> int | None:
        """Preview and carry out a step that removes containers; return as `_step` does."""
        try:
            removal = await self._guiding.removal(self._guide.id)
            self._print(["", removal.title, *(f"  {line}" for line in removal.lines)])
            await confirm(
                self._command.consent,
                question=removal.title,
                words=removal.words,
                otherwise="nothing was removed",
                may_ask=not self._command.as_json,
            )
            removed = await self._guiding.remove_containers(
                self._guide.id, removal, words=removal.words
            )
        except (NotConfirmed, UsageWrong) as error:
            self._later(error.sentence)
            return REFUSED
        except MachineError as error:
            self._later(error.sentence)
            return FAILED
        self._print(["", removed, ""])
        self._renew()
        return None

    def _later(self, why: str) -> int:
        """Print why the guide stays open and how to continue it."""
        self._why = why
        reasons = [why] if why else []
        go_on = f"this guide stays open; continue it with: evalroom guide resume {self._guide.id}"
        self._print(["", *reasons, go_on])
        return 0

    def _renew(self) -> None:
        self._guide = self._guiding.guide(self._guide.id) or self._guide
        self._print_changed_steps()

    def _print_all(self) -> None:
        self._print(plain_lines(self._guide))
        self._printed = {at: str(step.state) for at, step in enumerate(self._guide.steps)}

    def _print_changed_steps(self) -> None:
        """Print the steps whose state changed."""
        lines = plain_lines(self._guide)[1:]
        for at, step in enumerate(self._guide.steps):
            if self._printed.get(at) != step.state:
                self._printed[at] = str(step.state)
                self._print([lines[at]])

    def _print(self, lines: Sequence[str]) -> None:
        if not self._command.as_json:
            print_lines(lines)

    def answer(self) -> Json:
        """Return the guide for JSON, with the plans of its steps."""
        extra: Json = {"plans": self._plans}
        if self._why:
            extra["why"] = self._why
        return {**guide_answer(self._guide), **extra}


def _failed(reports: Sequence[OrderReport]) -> bool:
    bad = {OrderState.FAILED, OrderState.UNKNOWN}
    return any(each.outcome is not None and each.outcome.state in bad for each in reports)


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
