"""Surveys of this computer, over a real link."""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from core.config.model import MachineConfig
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.preflight.checks import CheckedPlan
from core.launch.preflight.machine_choice import choose_machines
from core.model.job import Job
from tests.support.specs import plans, spec
from tests.support.standins import Login
from tests.support.surveys import texts
from tests.support.waiting import WAIT_S

HERE = MachineConfig(name=MachineName("local"), link="command", python=sys.executable)
BUSY = re.compile("warning (load|memory|network):")


async def survey_answer(login: Login, **given: Any) -> Mapping[str, Any]:
    """Return the answer of a survey that is asked for this alone."""
    job = Job(program="survey", verb="survey", given=given)
    return await login.worker().work(HERE.name, job, deadline=WAIT_S)


async def checked_plans(
    login: Login, text: str, secrets: Sequence[str] = (), **how: Any
) -> tuple[CheckedPlan, ...]:
    """Return the preflight of each run of a spec."""
    made = [[each] for each in plans(spec(text=text), machine=HERE)]
    return await choose_machines(
        login.worker(), made, {HERE.name: HERE}, Fleet, secrets=secrets, deadline=WAIT_S, **how
    )


def troubles(checked: CheckedPlan) -> list[str]:
    """Return the checks that are not ok, without those of load and network."""
    return [each for each in texts(checked.checks) if not BUSY.match(each)]
