"""What one run is judged by."""

from collections.abc import Collection
from dataclasses import dataclass

from core.fleet import Fleet
from core.launch.plan.run_plan import RunPlan
from core.launch.preflight.requirements import task_asked
from core.launch.preflight.survey_facts import InspectFacts, SurveyFacts, TaskFacts
from core.launch.spec.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightContext:
    """A plan, and all that is known of where it is to run.

    Attributes:
        facts: What the survey told.
        fleet: All that is watched.
        secrets: The names of the secrets that are known here.
        held: Names of lock files of GPUs that earlier runs of the same launch get.
    """

    plan: RunPlan
    facts: SurveyFacts
    fleet: Fleet
    secrets: Collection[str] = ()
    held: Collection[str] = ()

    @property
    def spec(self) -> Spec:
        """What is asked for."""
        return self.plan.spec

    @property
    def login(self) -> tuple[str, ...]:
        """The names of the variables, of those that were asked for, that the login sets."""
        return self.facts.variables.value or ()

    @property
    def inspect(self) -> InspectFacts | None:
        """What the interpreter of the run told; None: nothing."""
        return self.facts.inspect.value

    @property
    def task(self) -> TaskFacts | None:
        """What the machine's Inspect told of the task; None: nothing."""
        asked = task_asked(self.plan)
        told = self.inspect
        return None if asked is None or told is None else told.tasks.get(asked)
