"""Guides: started from the palette, continued by a key, each step through its preview."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any

from core.act.plan import Plan
from core.act.planner import PlanningProgress
from core.act.target_expansion import ActionPlace, live_processes, models_of
from core.errors import EvalroomError
from core.fleet import Fleet
from core.guide.guide import Guide, StepKind
from core.guide.runner import GuideRunner
from core.guide.step_actions import title_of
from core.ids import ModelKey, ProcessKey, SampleKey, TaskKey
from core.ports import Room
from core.text import Shown, shown
from core.views.actions.action_menu import read_only
from tui.dialogs.choices import Choice, ChoiceDialog
from tui.dialogs.foreign_command import copy_foreign
from tui.dialogs.palette import PaletteCommand
from tui.dialogs.plan_execution import MakePlan
from tui.dialogs.prompts import RemovalDialog
from tui.navigation import GUIDES
from tui.ui import Ui

_MOST_COMMAND_CHARS = 16_000


class GuideController:
    """Starts guides and continues them, each step through its preview.

    Args:
        ui: The app.
        room: The fleet that guides are on.
        guiding: Runs the guides.
        preview: Opens the preview of a step's plan: title, what makes the plan.

    Attributes:
        guiding: Runs the guides.
        newest: The id of the guide that was started last; the list moves its cursor there once.
    """

    def __init__(
        self, ui: Ui, room: Room, guiding: GuideRunner, *, preview: Callable[[str, MakePlan], None]
    ) -> None:
        self._ui = ui
        self._room = room
        self._preview = preview
        self.guiding = guiding
        self.newest: str | None = None
        ui.background(guiding.run(), "running guides")

    def commands(self, places: Sequence[ActionPlace]) -> Iterator[PaletteCommand]:
        """Yield the guides that can be started, on the selection if they need one."""
        fleet = self._room.fleet
        if all(machine.read_only for machine in fleet.machines.values()):
            return
        if places and read_only(fleet, places) is not None:
            places = ()
        keys, tasks = processes_of(fleet, places), tasks_of(places)
        if keys and places:
            what = f"{keys[0].machine}:{keys[0].pid}"
            yield self._offer(
                "guide-interrupt",
                f"Interrupt {what} safely (pause, wait, flush); keep its resume command",
                lambda: self._begin(lambda: self.guiding.interrupt(keys[0])),
            )
        if tasks:
            yield self._offer(
                "guide-finish",
                "Finish this task early: drain, then score, then cancel; you confirm each",
                lambda: self._begin(lambda: self.guiding.finish(tasks[0])),
            )
        for name, how, now in (
            ("guide-incident", "pause a model everywhere", False),
            ("guide-incident-now", "pause a model everywhere, and hold its calls", True),
        ):
            yield self._offer(
                name,
                f"Provider incident: {how}; later resume what the guide paused",
                partial(self._incident, places, now=now),
            )
        yield self._offer(
            "guide-cleanup",
            "Clean up: release parked processes that you launched; remove leftover containers",
            lambda: self._begin(self.guiding.cleanup),
        )
        yield self._offer(
            "guide-cleanup-others",
            "Clean up: release parked processes of all owners; remove leftover containers",
            lambda: self._begin(lambda: self.guiding.cleanup(others=True)),
        )

    def _offer(self, name: str, title: str, run: Callable[[], object]) -> PaletteCommand:
        return PaletteCommand(name=shown(name), title=shown(title, 200), key="", run=run)

    # Beginning

    def _begin(self, begin: Callable[[], Coroutine[Any, Any, Guide]]) -> None:
        async def work() -> None:
            guide = await begin()
            self.newest = guide.id
            self._ui.go(GUIDES)

        self._work(work)

    def _incident(self, places: Sequence[ActionPlace], *, now: bool) -> None:
        fleet = self._room.fleet
        chosen = processes_of(fleet, places) if places else ()
        models = models_of(fleet, chosen or live_processes(fleet))
        tasks = [fleet.tasks[key].row.model for key in tasks_of(places) if key in fleet.tasks]
        named = tuple(dict.fromkeys((*tasks, *models)))
        if not named:
            self._ui.say("No model runs on this selection.", "warning")
            return
        title = Shown("Pause which model everywhere? A preview comes first")
        choices = [Choice(model, shown(model)) for model in named]

        def picked(model: str | None) -> None:
            if model is not None:
                self._begin(lambda: self.guiding.incident(model, now=now))

        self._ui.open(ChoiceDialog(title, choices), picked)

    # Going on

    def go_on(self, guide: str) -> None:
        """Preview the step that waits; take over a guide that no evalroom runs."""
        known = self.guiding.guide(guide)
        if known is None:
            self._work(lambda: self._take_up(guide))
            return
        step = known.step
        if step is None or not known.waits:
            why = "it has ended" if step is None else step.sentence or step.title
            self._ui.say(f"This guide does not wait for you: {why}", "warning")
            return

        if step.kind is StepKind.CONTAINERS:
            self._work(lambda: self._preview_removal(guide))
            return

        async def ask(
            on_progress: Callable[[PlanningProgress], None], hurry: asyncio.Event
        ) -> Plan:
            return await self.guiding.plan(guide, on_progress=on_progress, hurry=hurry)

        self._preview(title_of(known, step), ask)

    async def _preview_removal(self, guide: str) -> None:
        removal = await self.guiding.removal(guide)

        async def remove() -> None:
            removed = await self.guiding.remove_containers(guide, removal, words=removal.words)
            self._ui.say(f"{removed[:1].upper()}{removed[1:]}.")

        def answered(confirmed: bool | None) -> None:
            if confirmed:
                self._work(remove)

        self._ui.open(RemovalDialog(removal), answered)

    async def _take_up(self, guide: str) -> None:
        await self.guiding.take_over(guide)
        self._ui.say("Guide taken over. It sends nothing until you continue.")

    def skip(self, guide: str) -> None:
        """Skip the step that waits."""
        self._work(lambda: self.guiding.skip(guide))

    def stop(self, guide: str) -> None:
        """Stop a guide for good."""
        self._work(lambda: self.guiding.stop(guide))

    def copy(self, guide: Guide) -> None:
        """Copy the command that resumes."""
        if not guide.command:
            self._ui.say("This guide has no command to resume.", "warning")
            return
        text = shown(guide.command, _MOST_COMMAND_CHARS)
        if self._is_ours(guide):
            self._ui.copy(text, "resume command")
        else:
            copy_foreign(self._ui, text, "resume command", "Whoever started this eval")

    def _is_ours(self, guide: Guide) -> bool:
        """Whether this operator launched the process that the guide is about."""
        fleet = self._room.fleet
        ours = (run for run in fleet.runs.values() if run.is_ours)
        found = (fleet.process_of_run(run) for run in ours)
        return any(each is not None and each.key == guide.process for each in found)

    def _work(self, work: Callable[[], Awaitable[object]]) -> None:
        async def report() -> None:
            try:
                await work()
            except EvalroomError as error:
                self._ui.say(error.sentence, "warning")

        self._ui.background(report(), "guide")


def processes_of(fleet: Fleet, places: Sequence[ActionPlace]) -> tuple[ProcessKey, ...]:
    """Return the live processes of a selection."""
    live = live_processes(fleet)
    found: dict[ProcessKey, None] = {}
    for place in places:
        match place:
            case ProcessKey():
                found[place] = None
            case TaskKey() | ModelKey():
                found[place.process] = None
            case SampleKey():
                found[place.task.process] = None
            case _:
                found |= dict.fromkeys(key for key in live if key.machine == place)
    return tuple(key for key in found if key in live)


def tasks_of(places: Sequence[ActionPlace]) -> tuple[TaskKey, ...]:
    """Return the tasks of a selection."""
    tasks = (each.task if isinstance(each, SampleKey) else each for each in places)
    return tuple(dict.fromkeys(each for each in tasks if isinstance(each, TaskKey)))
