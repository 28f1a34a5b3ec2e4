"""What a run needs brought to its machine before it starts: uv, packages, code.

With a given interpreter and no repository that is nothing: a machine without a network serves.
"""

from dataclasses import dataclass
from enum import StrEnum

from core.launch.plan.launch_plan import RunPlan
from core.launch.ports import Tell
from core.launch.provision import fetch_client
from core.launch.provision.fetch_client import OwnUv
from core.model.job import Worker
from core.text import shown


class Need(StrEnum):
    """Something that is brought."""

    UV = "uv"
    PACKAGES = "packages"
    """Inspect, pinned, and further ones, in uv's cache."""
    CODE = "code"
    """A checkout of the repository, of this run alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
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


def needs(plan: RunPlan) -> tuple[Need, ...]:
    """Return what is brought for a plan, in its order."""
    code = plan.spec.code
    return (
        *((Need.UV, Need.PACKAGES) if plan.python is None else ()),
        *((Need.CODE,) if code is not None and code.repository is not None else ()),
    )


async def bring(
    worker: Worker, plan: RunPlan, *, token: str | None, uv: OwnUv, tell: Tell
) -> Brought:
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
    machine, wanted = plan.machine, needs(plan)
    how: list[str] = []
    commit = uv_version = inspect = None
    if Need.UV in wanted:
        tell(f"uv on {machine}")
        got = await fetch_client.uv(worker, machine, uv, tell)
        uv_version = got.version
        how.append(f"uv {got.version}: {got.how}")
    if Need.PACKAGES in wanted:
        tell(f"Inspect and its packages on {machine}")
        got = await fetch_client.packages(worker, plan)
        inspect = got.version
        how.append(f"Inspect {got.version} and its packages: {got.how}")
    if Need.CODE in wanted:
        repository = shown(plan.spec.code.repository if plan.spec.code else "")
        tell(f"the code of {repository} on {machine}")
        got = await fetch_client.checkout(worker, plan, token=token)
        commit = got.version
        how.append(f"{repository} at {got.version}: {got.how}")
        if got.note:
            how.append(got.note)
    return Brought(commit=commit, uv=uv_version, inspect=inspect, how=tuple(how))
