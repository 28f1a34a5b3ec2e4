"""The client of the fetch program (`ssh/shipped`): one function for each of its verbs."""

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
"""The oldest uv that evalroom can use."""
PIECE_BYTES = 8 * 1024 * 1024
"""Bytes of uv that one job sends, before compression."""
UV_TIMEOUT_S, CODE_TIMEOUT_S, PACKAGES_TIMEOUT_S = 300.0, 900.0, 3600.0
"""Timeouts, seconds; packages of several gigabytes are common."""
_ANSWER_GRACE_S = 30.0
"""How long to wait for the machine's answer after its own timeout, seconds."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class UvFile:
    """The uv of evalroom's own environment, to send to machines of the same platform.

    Attributes:
        version: Its version.
        system, processor, libc: Its platform, in the words of Python's module `platform`.
        size: Size of the file, bytes.
        sha256: Digest of the file.
        read: Reads at most the given number of bytes from an offset; may block.
    """

    version: str
    system: str
    processor: str
    libc: str
    size: int
    sha256: str
    read: Callable[[int, int], bytes]


FindLocalUv = Callable[[], UvFile | None]
"""Finds the uv of evalroom's own environment; may block. None: it has no uv."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The result of a fetch.

    Attributes:
        version: Version of uv or Inspect, or the commit of a checkout.
        was_there: Whether nothing had to be fetched.
        how: How it was fetched, a few words.
        note: A caution about it; empty: none.
    """

    version: str
    was_there: bool
    how: str
    note: str = ""


_WAYS: Mapping[str, str] = {
    "there": "already there",
    "sent": "sent from here",
    "copied": "copied from another folder on that machine",
    "pip": "downloaded by that machine's pip",
}


async def fetch_uv(
    worker: Worker, machine: MachineName, own: FindLocalUv, on_progress: OnProgress
) -> FetchResult:
    """Install uv into the account's folder of evalroom on a machine.

    Raises:
        JobFailed: The machine has no way to get uv.
        RequestFailed: No answer came; a repeated call resumes where this one stopped.
    """
    file = await asyncio.to_thread(own)
    answer = await _uv(worker, machine, None if file is None else _offer(file))
    if file is not None and "wants" in answer:
        answer = await _send(worker, machine, file, answer, on_progress)
        if "refused" in answer:
            answer = await _uv(worker, machine, None)
    way = text(answer, "how") or ""
    version = shown(_required(machine, answer, "version"), 40)
    return FetchResult(version=version, was_there=way == "there", how=_WAYS.get(way, "downloaded"))


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
    worker: Worker,
    machine: MachineName,
    file: UvFile,
    answer: Mapping[str, Any],
    on_progress: OnProgress,
) -> Mapping[str, Any]:
    """Send uv in pieces, each from the offset that the machine asks for, until it is complete."""
    for _ in range(3 * (file.size // PIECE_BYTES + 2)):  # another instance may send it too
        at = count(answer, "wants")
        if at is None:
            return answer
        if not 0 <= at <= file.size:
            raise RequestFailed(f"internal error: {machine} asked for bytes past the end of uv")
        on_progress(f"sending uv to {machine}: {size(min(at, file.size))} of {size(file.size)}")
        body = await asyncio.to_thread(_piece, file, at)
        given = {"least": MIN_UV_VERSION, "offer": _offer(file), "at": at}
        answer = await run_fetch(worker, machine, "uv_part", given, seconds=UV_TIMEOUT_S, body=body)
    raise JobFailed(f"copying uv to {machine} was incomplete", "launch again")


def _piece(file: UvFile, at: int) -> bytes:
    return zlib.compress(file.read(at, PIECE_BYTES), 3)


async def fetch_packages(worker: Worker, plan: RunPlan) -> FetchResult:
    """Download Inspect and a plan's packages into uv's cache, so that the start needs no network.

    Raises:
        JobFailed: They can't be downloaded.
        RequestFailed: No answer came; the cache may have some of them.
    """
    given = {
        "offline": list(plan.python_words),
        "online": [word for word in plan.inspect_words if word != "--offline"],
        **environment(plan),
    }
    answer = await run_fetch(worker, plan.machine, "packages", given, seconds=PACKAGES_TIMEOUT_S)
    return FetchResult(
        version=shown(_required(plan.machine, answer, "version"), 40),
        was_there=answer.get("how") == "there",
        how="already there" if answer.get("how") == "there" else "downloaded by uv",
    )


async def fetch_code(
    worker: Worker, plan: RunPlan, *, token: str | None, directory: str | None = None
) -> FetchResult:
    """Check out a plan's repository in the run's folder.

    Args:
        worker: Does jobs on the machine.
        plan: A plan with code from a repository.
        token: Access token of a private repository; None: no token.
        directory: Another folder than the run's; None: the run's.

    Raises:
        JobFailed: No such repository or ref, no access, no git, or no space.
        RequestFailed: No answer came; the checkout may exist.
    """
    code = plan.spec.code
    assert code is not None  # noqa: S101 - the caller checked
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
    commit = _required(plan.machine, answer, "commit")
    if not _COMMIT.fullmatch(commit):
        raise RequestFailed(f"internal error: {plan.machine} sent an invalid commit")
    lfs = "files in Git LFS were not downloaded: the checkout has only pointers to them"
    was_there = answer.get("how") == "there"
    return FetchResult(
        version=commit,
        was_there=was_there,
        how="already there" if was_there else "checked out",
        note=lfs if answer.get("lfs") is True else "",
    )


def environment(plan: RunPlan) -> Mapping[str, Any]:
    """Return the variables with which a program finds the same caches as the run."""
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
    """Run one verb of the fetch program, which stops itself after `seconds`.

    Raises:
        JobFailed: The machine can't do it; the message is its own.
        RequestFailed: No answer came; it may have been done.
    """
    job = Job(
        program="fetch",
        verb=verb,
        given={**given, "seconds": seconds},
        secrets=secrets or {},
        body=body,
    )
    return await worker.work(machine, job, deadline=seconds + _ANSWER_GRACE_S)


def _required(machine: MachineName, answer: Mapping[str, Any], name: str) -> str:
    value = text(answer, name)
    if not value:
        raise RequestFailed(
            f"internal error: {machine} did not report the {name} of what it fetched"
        )
    return value
