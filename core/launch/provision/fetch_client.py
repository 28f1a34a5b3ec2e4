"""What the fetch program on a machine is asked: one function for each of its verbs."""

import asyncio
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.ctl.decode import count, text
from core.errors import JobFailed, RequestFailed
from core.format import size
from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.launch.progress import OnProgress
from core.model.job import Job, Worker
from core.text import shown

MIN_UV_VERSION = "0.8.0"
"""The oldest uv that does."""
PIECE_BYTES = 8 * 1024 * 1024
"""Bytes of uv that go in one job, before they are compressed."""
UV_TIMEOUT_S, CODE_TIMEOUT_S, PACKAGES_TIMEOUT_S = 300.0, 900.0, 3600.0
"""Seconds that each may take; packages of gigabytes are usual."""
_ANSWER_GRACE_S = 30.0
"""Seconds after its own deadline in which a machine's sentence about that still comes."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class UvFile:
    """The uv of evalroom's own environment, as it can be sent to a machine that is alike.

    Attributes:
        system, processor, libc: What it is made for, as Python's `platform` tells.
        size: Bytes.
        read: Returns at most so many bytes from a place; it reads a file, and may block.
    """

    version: str
    system: str
    processor: str
    libc: str
    size: int
    sha256: str
    read: Callable[[int, int], bytes]


FindLocalUv = Callable[[], UvFile | None]
"""Finds the uv of evalroom's own environment; it may block. None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """What a machine has now.

    Attributes:
        version: Of uv or Inspect; the commit of a checkout.
        was_there: Whether nothing had to be fetched.
        how: By which way it came, a few words.
        note: What to mind about it; empty: nothing.
    """

    version: str
    was_there: bool
    how: str
    note: str = ""


_WAYS: Mapping[str, str] = {
    "there": "it was there",
    "sent": "sent from here",
    "copied": "copied from the one on that machine",
    "pip": "fetched by that machine's pip",
}


async def fetch_uv(
    worker: Worker, machine: MachineName, own: FindLocalUv, tell: OnProgress
) -> FetchResult:
    """Have a uv in the account's folder of evalroom there.

    Raises:
        JobFailed: There is no way to have one.
        RequestFailed: It may be there, or partly; asked again, it goes on where it was.
    """
    file = await asyncio.to_thread(own)
    answer = await _uv(worker, machine, None if file is None else _offer(file))
    if file is not None and "wants" in answer:
        answer = await _send(worker, machine, file, answer, tell)
        if "refused" in answer:
            answer = await _uv(worker, machine, None)
    way = text(answer, "how") or ""
    version = shown(_told(machine, answer, "version"), 40)
    return FetchResult(version=version, was_there=way == "there", how=_WAYS.get(way, "fetched"))


async def _uv(
    worker: Worker, machine: MachineName, offer: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    return await run_fetch(
        worker, machine, "uv", {"least": MIN_UV_VERSION, "offer": offer}, seconds=UV_TIMEOUT_S
    )


def _offer(file: UvFile) -> Mapping[str, Any]:
    return {
        "system": file.system,
        "processor": file.processor,
        "libc": file.libc,
        "size": file.size,
        "sha256": file.sha256,
    }


async def _send(
    worker: Worker, machine: MachineName, file: UvFile, answer: Mapping[str, Any], tell: OnProgress
) -> Mapping[str, Any]:
    """Send uv in pieces, each from where that machine wants it, until it has all of it."""
    for _ in range(3 * (file.size // PIECE_BYTES + 2)):  # others may send it at the same time
        at = count(answer, "wants")
        if at is None:
            return answer
        if not 0 <= at <= file.size:
            raise RequestFailed(f"{machine} wants uv from a place that it has not")
        tell(f"uv goes to {machine}: {size(min(at, file.size))} of {size(file.size)}")
        body = await asyncio.to_thread(_piece, file, at)
        given = {"least": MIN_UV_VERSION, "offer": _offer(file), "at": at}
        answer = await run_fetch(worker, machine, "uv_part", given, seconds=UV_TIMEOUT_S, body=body)
    raise JobFailed(f"uv did not arrive whole on {machine}", "launch it again")


def _piece(file: UvFile, at: int) -> bytes:
    return zlib.compress(file.read(at, PIECE_BYTES), 3)


async def fetch_packages(worker: Worker, plan: RunPlan) -> FetchResult:
    """Have what uv runs for a plan in its cache, so that a start fetches nothing.

    Raises:
        JobFailed: It can't be had.
        RequestFailed: It may be there, or partly.
    """
    given = {
        "offline": list(plan.python_words),
        "online": [word for word in plan.inspect_words if word != "--offline"],
        **environment(plan),
    }
    answer = await run_fetch(worker, plan.machine, "packages", given, seconds=PACKAGES_TIMEOUT_S)
    return FetchResult(
        version=shown(_told(plan.machine, answer, "version"), 40),
        was_there=answer.get("how") == "there",
        how="it was there" if answer.get("how") == "there" else "fetched by uv",
    )


async def fetch_code(
    worker: Worker, plan: RunPlan, *, token: str | None, directory: str | None = None
) -> FetchResult:
    """Have a plan's repository checked out in the run's folder.

    Args:
        worker: Has jobs done.
        plan: With code from a repository.
        token: What opens a private one; None: nothing.
        directory: Another folder than the run's.

    Raises:
        JobFailed: It can't be had: not there, not open, no such ref, no git, no space.
        RequestFailed: It may be there.
    """
    code = plan.spec.code
    assert code is not None  # noqa: S101 - the caller looked
    given = {
        "directory": directory or plan.directory,
        "repository": code.repository,
        "ref": code.ref,
        **environment(plan),
    }
    secrets = {} if token is None else {"token": token}
    answer = await run_fetch(
        worker, plan.machine, "checkout", given, seconds=CODE_TIMEOUT_S, secrets=secrets
    )
    commit = _told(plan.machine, answer, "commit")
    if not _COMMIT.fullmatch(commit):
        raise RequestFailed(f"what {plan.machine} says of the checkout is no commit")
    lfs = "files kept in Git LFS are not fetched: what is there points to them"
    was_there = answer.get("how") == "there"
    return FetchResult(
        version=commit,
        was_there=was_there,
        how="it was there" if was_there else "checked out",
        note=lfs if answer.get("lfs") is True else "",
    )


def environment(plan: RunPlan) -> Mapping[str, Any]:
    """Return what makes programs find the caches that the run will look into."""
    variables = {**plan.variables}
    if plan.data_dir is not None:
        variables["XDG_DATA_HOME"] = plan.data_dir
    return {"env": variables, "inherit": list(plan.spec.inherit)}


async def run_fetch(
    worker: Worker,
    machine: MachineName,
    verb: str,
    given: Mapping[str, Any],
    *,
    seconds: float,
    secrets: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Mapping[str, Any]:
    """Have a job of the fetch program done; it ends itself, and says so, after `seconds`.

    Raises:
        JobFailed: It can't be done; the sentence is that machine's.
        RequestFailed: It may have been done.
    """
    job = Job(
        program="fetch",
        verb=verb,
        given={**given, "seconds": seconds},
        secrets=secrets or {},
        body=body,
    )
    return await worker.work(machine, job, deadline=seconds + _ANSWER_GRACE_S)


def _told(machine: MachineName, answer: Mapping[str, Any], name: str) -> str:
    told = text(answer, name)
    if not told:
        raise RequestFailed(f"{machine} does not say the {name} of what it fetched")
    return told
