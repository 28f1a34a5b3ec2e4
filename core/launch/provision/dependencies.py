"""What a run needs brought to its machine before it starts: uv, packages, code.

With a given interpreter and no repository that is nothing: a machine without a network serves.
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
    """Something that is brought."""

    UV = "uv"
    PACKAGES = "packages"
    """Inspect, pinned, and further ones, in uv's cache."""
    CODE = "code"
    """A checkout of the repository, of this run alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """What a run has on its machine.

    Attributes:
        commit: Of the checkout; None: there is no repository.
        uv: The version of uv; None: an interpreter is given.
        inspect: The version of Inspect that uv runs; None with `uv`.
        how: What was done, a sentence each, harmless to show.
    """

    commit: str | None = None
    uv: str | None = None
    inspect: str | None = None
    how: tuple[str, ...] = ()


def dependencies(plan: RunPlan) -> tuple[Dependency, ...]:
    """Return what is brought for a plan, in its order."""
    code = plan.spec.code
    return (
        *((Dependency.UV, Dependency.PACKAGES) if plan.python is None else ()),
        *((Dependency.CODE,) if code is not None and code.repository is not None else ()),
    )


async def provision(
    worker: Worker, plan: RunPlan, *, token: str | None, uv: FindLocalUv, tell: OnProgress
) -> Provisioned:
    """Bring what a plan needs to its machine; done again, it does what is left.

    Args:
        worker: Has jobs done there.
        plan: Whose folder is there, or is made.
        token: What opens a private repository; it goes to the one job that fetches it.
        uv: Finds evalroom's own uv, for machines that are alike.
        tell: Hears how far it is.

    Raises:
        JobFailed: Something can't be had; the sentence says what and why.
        RequestFailed: The link was lost or a deadline passed: do it again.
    """
    machine, wanted = plan.machine, dependencies(plan)
    how: list[str] = []
    commit = uv_version = inspect = None
    if Dependency.UV in wanted:
        tell(f"uv on {machine}")
        got = await fetch_client.fetch_uv(worker, machine, uv, tell)
        uv_version = got.version
        how.append(f"uv {got.version}: {got.how}")
    if Dependency.PACKAGES in wanted:
        tell(f"Inspect and its packages on {machine}")
        got = await fetch_client.fetch_packages(worker, plan)
        inspect = got.version
        how.append(f"Inspect {got.version} and its packages: {got.how}")
    if Dependency.CODE in wanted:
        repository = shown(plan.spec.code.repository if plan.spec.code else "")
        tell(f"the code of {repository} on {machine}")
        got = await fetch_client.fetch_code(worker, plan, token=token)
        commit = got.version
        how.append(f"{repository} at {got.version}: {got.how}")
        if got.note:
            how.append(got.note)
    return Provisioned(commit=commit, uv=uv_version, inspect=inspect, how=tuple(how))
