"""What the checks of one run work with."""

from collections.abc import Collection
from dataclasses import dataclass

from core.fleet import Fleet
from core.launch.plan.run_plan import RunPlan
from core.launch.preflight.requirements import task_asked
from core.launch.preflight.survey_facts import InspectFacts, SurveyFacts, TaskFacts
from core.launch.spec.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightContext:
    """A plan with everything known about its machine.

    Attributes:
        plan: The run's plan.
        facts: The survey of its machine.
        fleet: All that is known now.
        secrets: Names of the stored secrets.
        held: Names of the lock files of GPUs that earlier runs of the same launch get.
    """

    plan: RunPlan
    facts: SurveyFacts
    fleet: Fleet
    secrets: Collection[str] = ()
    held: Collection[str] = ()

    @property
    def spec(self) -> Spec:
        """The spec of the run."""
        return self.plan.spec

    @property
    def login(self) -> tuple[str, ...]:
        """Names of the surveyed variables that the login sets."""
        return self.facts.variables.value or ()

    @property
    def inspect(self) -> InspectFacts | None:
        """The answer of the run's interpreter; None: no answer."""
        return self.facts.inspect.value

    @property
    def task(self) -> TaskFacts | None:
        """The answer of the machine's Inspect about the task; None: no answer."""
        asked = task_asked(self.plan)
        inspect = self.inspect
        return None if asked is None or inspect is None else inspect.tasks.get(asked)
