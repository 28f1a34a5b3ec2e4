"""Checks whether an eval goes on after the link that started it has ended."""

from collections.abc import Iterator

from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.survey_facts import SurveyFacts

_NAME = "link"
_ENDS = {
    "step": (
        "a step of a job scheduler, which ends its processes",
        "reach that node another way, such as ssh into the running job",
    ),
    "service": (
        "a service of systemd-run, which ends its processes",
        "use systemd-run --scope, or -p KillMode=process, in the machine's command",
    ),
    "container": (
        "a container that ends with it",
        "start a container that stays, and use docker exec in the machine's command",
    ),
    "logout": (
        "a session whose processes systemd ends at logout (KillUserProcesses)",
        "set KillUserProcesses=no in its logind.conf, or add the account to KillExcludeUsers",
    ),
}


def link_checks(facts: SurveyFacts) -> Iterator[Check]:
    """Yield whether a process outlives the link that started it, by trial and by known facts."""
    known = _ENDS.get(facts.session.value or "")
    if facts.outlives is False:
        text = "a process that the link started was gone when evalroom connected again"
        advice = "use a link that does not end its processes, such as ssh"
        if known is not None:
            text, advice = f"{text}: the link's command runs in {known[0]}", known[1]
        yield stop(_NAME, f"the eval would end with its link: {text}", advice)
    elif known is not None:
        text = f"the eval may end with its link: this login is {known[0]}"
        yield warning(_NAME, text, known[1])
    elif facts.outlives or facts.session.value == "entered":
        yield passed(_NAME, "a process that the link starts outlives it")
