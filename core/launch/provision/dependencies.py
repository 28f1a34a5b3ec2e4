"""Puts what a run needs on its machine before it starts: uv, packages, code.

A run with a given interpreter and without a repository needs nothing, so its machine needs no
network.
"""

from dataclasses import dataclass
from enum import StrEnum

from core.launch.plan.run_plan import RunPlan
from core.launch.progress import OnProgress
from core.launch.provision import fetch_client
from core.launch.provision.fetch_client import FindLocalUv
from core.model.job import Worker
from core.text import shown


class Dependency(StrEnum):
    """Something that a run needs on its machine."""

    UV = "uv"
    PACKAGES = "packages"
    """Inspect at one version, and the spec's packages, in uv's cache."""
    CODE = "code"
    """A checkout of the repository for this run alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionedRun:
    """What a run has on its machine.

    Attributes:
        commit: Commit of the checkout; None: the run has no repository.
        uv: Version of uv; None: an interpreter is given.
        inspect: Version of the Inspect that uv runs; None: an interpreter is given.
        how: What was done, one sentence each, harmless to show.
    """

    commit: str | None = None
    uv: str | None = None
    inspect: str | None = None
    how: tuple[str, ...] = ()


def dependencies(plan: RunPlan) -> tuple[Dependency, ...]:
    """Return what a plan needs, in the order of the work."""
    code = plan.spec.code
    return (
        *((Dependency.UV, Dependency.PACKAGES) if plan.python is None else ()),
        *((Dependency.CODE,) if code is not None and code.repository is not None else ()),
    )


async def provision(
    worker: Worker, plan: RunPlan, *, token: str | None, uv: FindLocalUv, on_progress: OnProgress
) -> ProvisionedRun:
    """Put what a plan needs on its machine. A repeated call does the rest.

    Args:
        worker: Does jobs on the machine.
        plan: The plan of the run.
        token: Access token of a private repository; None: no token.
        uv: Finds evalroom's own uv, to send it to machines of the same platform.
        on_progress: Gets a line of text before each step.

    Raises:
        JobFailed: Something is not available; the message says what and why.
        RequestFailed: The link was lost or a timeout passed: call again.
    """
    machine, wanted = plan.machine, dependencies(plan)
    how: list[str] = []
    commit = uv_version = inspect = None
    if Dependency.UV in wanted:
        on_progress(f"getting uv on {machine}")
        got = await fetch_client.fetch_uv(worker, machine, uv, on_progress)
        uv_version = got.version
        how.append(f"uv {got.version}: {got.how}")
    if Dependency.PACKAGES in wanted:
        on_progress(f"getting Inspect and the packages on {machine}")
        got = await fetch_client.fetch_packages(worker, plan)
        inspect = got.version
        how.append(f"Inspect {got.version} and its packages: {got.how}")
    if Dependency.CODE in wanted:
        repository = shown(plan.spec.code.repository if plan.spec.code else "")
        on_progress(f"checking out {repository} on {machine}")
        got = await fetch_client.fetch_code(worker, plan, token=token)
        commit = got.version
        how.append(f"{repository} at {got.version}: {got.how}")
        if got.note:
            how.append(got.note)
    return ProvisionedRun(commit=commit, uv=uv_version, inspect=inspect, how=tuple(how))
