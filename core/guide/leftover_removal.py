"""The step of a clean-up guide that removes the containers that no eval holds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.confirmation import words_to_confirm
from core.errors import NotConfirmed, UsageWrong
from core.fleet import Fleet
from core.fold.sandboxes import Sandbox, leftovers, removal_command
from core.format import plural
from core.guide.context import GuideContext
from core.guide.guide import Guide, GuideStep, StepKind, StepState
from core.ids import MachineName
from core.model.job import Job, Worker
from core.model.machine import ToolState
from core.text import Shown, shown

REMOVAL_TIMEOUT_S = 240.0
"""Timeout of the job that removes containers, seconds."""
_LONG = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The containers that a step removes now.

    Attributes:
        machine: The machine that they are on.
        sandboxes: Their projects; each is one sample of an eval that has ended.
    """

    machine: MachineName
    sandboxes: tuple[Sandbox, ...]

    @property
    def count(self) -> int:
        """How many containers it removes."""
        return sum(len(each.containers) for each in self.sandboxes)

    @property
    def ids(self) -> frozenset[str]:
        """The ids of its containers."""
        return frozenset(each.id for one in self.sandboxes for each in one.containers)

    @property
    def title(self) -> Shown:
        """The title of its preview."""
        return shown(f"remove {plural(self.count, 'container')} on {self.machine}", _LONG)

    @property
    def words(self) -> str:
        """The words that confirm it."""
        return words_to_confirm("remove", [each.project for each in self.sandboxes])

    @property
    def lines(self) -> tuple[Shown, ...]:
        """Its preview: each container, and the equivalent command."""
        rows = [
            f"{each.name}  {each.image}  {each.status}"
            for sandbox in self.sandboxes
            for each in sandbox.containers
        ]
        what = "No eval on that machine holds them. They can't be brought back."
        return tuple(shown(line, 2_000) for line in (*rows, what, removal_command(self.sandboxes)))

    @property
    def job(self) -> Job:
        """The job that removes them."""
        ids = {each.id: each.project for one in self.sandboxes for each in one.containers}
        return Job(program="launcher", verb="remove containers", given={"containers": ids})


def removal_steps(fleet: Fleet) -> Iterator[GuideStep]:
    """Yield a step for each machine with containers that no eval holds."""
    for machine in fleet.machines.values():
        if machine.read_only or not machine.link.is_up:
            continue
        left = _leftovers(fleet, machine.name)
        ids = tuple(each.id for one in left for each in one.containers)
        if ids:
            title = f"remove {plural(len(ids), 'container')} of ended evals on {machine.name}"
            yield GuideStep(
                kind=StepKind.CONTAINERS,
                title=shown(title, _LONG),
                machine=machine.name,
                containers=ids,
            )


def removal_of(fleet: Fleet, step: GuideStep | None) -> Removal:
    """Return what a step would remove now: of its containers, those that no eval holds still.

    Raises:
        UsageWrong: It is another kind of step, the machine can't be reached, or nothing is left.
    """
    if step is None or step.kind is not StepKind.CONTAINERS:
        raise UsageWrong("no step waits that removes containers")
    name = step.machine
    machine = fleet.machines.get(name) if name is not None else None
    if name is None or machine is None or not machine.link.is_up:
        raise UsageWrong(f"{shown(name or 'the machine')} can't be reached now")
    if machine.read_only:
        raise UsageWrong(f"{shown(name)} is read-only")
    chosen = tuple(
        each
        for each in _leftovers(fleet, name)
        if all(container.id in step.containers for container in each.containers)
    )
    if not chosen:
        raise UsageWrong("nothing is left to remove, or an eval may hold it now")
    return Removal(machine=name, sandboxes=chosen)


async def remove(previewed: Removal, now: Removal, *, words: str, worker: Worker | None) -> str:
    """Remove exactly the containers that were previewed, and return how many it were, in words.

    Args:
        previewed: What the operator saw.
        now: What the step would remove now.
        words: What the operator typed.
        worker: Runs the job; None: nothing can be removed.

    Raises:
        NotConfirmed: These are not the words of that preview; nothing was removed.
        UsageWrong: An eval may hold one of them now; nothing was removed.
        JobFailed: Docker refused.
        RequestFailed: The machine gave no answer.
    """
    if words != previewed.words or worker is None:
        raise NotConfirmed("not confirmed: nothing was removed")
    if not previewed.ids <= now.ids:
        raise UsageWrong("the containers have changed since the preview", "preview them again")
    answer = await worker.work(previewed.machine, previewed.job, deadline=REMOVAL_TIMEOUT_S)
    return plural(len(answer.get("removed") or ()), "container")


def with_result(guide: Guide, result: str) -> Guide:
    """Return the guide with its current step done, with this sentence."""
    at = guide.current
    if at is None:
        return guide
    return guide.with_step(
        at, replace(guide.steps[at], state=StepState.DONE, sentence=shown(result, _LONG))
    )


def containers_status(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Return the state of the step: over once none of its containers is left."""
    del guide
    machine = world.fleet.machines.get(step.machine) if step.machine is not None else None
    if machine is None or machine.facts is None or not machine.link.is_up:
        return replace(step, sentence=f"{shown(step.machine or '')} can't be reached now")
    docker = machine.facts.docker
    if docker.state is not ToolState.OK:
        return replace(step, sentence="Docker does not answer there now")
    there = sum(each.id in step.containers for each in docker.containers)
    if not there:
        return replace(step, state=StepState.DONE, sentence="all of them are gone")
    return replace(step, sentence=f"{plural(there, 'container')} left, held by no eval")


def _leftovers(fleet: Fleet, machine: MachineName) -> tuple[Sandbox, ...]:
    known = fleet.machines[machine]
    docker = known.facts.docker if known.facts is not None else None
    if docker is None or docker.state is not ToolState.OK or not known.lists_all(fleet.at):
        return ()
    return leftovers(fleet, machine, docker)
