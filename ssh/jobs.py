"""Jobs of a launch: a short program of ours on a channel of its own, asked one thing.

It gets one line of JSON on its standard input, secrets among it, and answers with one line.
What it is asked stands in no argument list: anybody there could read that with `ps`.
"""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, cast

from core.ctl.decode import parse_object
from core.errors import AnswerMalformed, JobFailed, LinkLost, MachineError, RequestFailed
from core.ids import MachineName
from core.model.job import Job
from core.text import shown
from ssh.handshake import ErrorTail, shake_hands
from ssh.links.link import Link, Program

JOBS_AT_ONCE = 2
"""Jobs on one link at a time: sshd lets few channels be open (MaxSessions), one is the probe's."""
MAX_ANSWER = 8 * 1024 * 1024
MARK = "evalroom-job"


def job_source(job: Job) -> bytes:
    """Return the program that does a job, as it is sent."""
    return resources.files("ssh").joinpath("shipped", f"{job.program}.py").read_bytes()


async def do_job(
    machine: MachineName, link: Link, job: Job, *, python: str, deadline: float
) -> Mapping[str, Any]:
    """Have a job done over an open link; return what its program answered.

    Args:
        machine: For messages.
        link: An open one.
        job: What is done.
        python: The interpreter over there, 3.8 or newer.
        deadline: Seconds for all of it.

    Raises:
        JobFailed: It can't be done, in that machine's words.
        RequestFailed: The link went or the deadline passed: it may have been done all the same.
    """
    program: Program | None = None
    errors = ErrorTail(bytearray())
    try:
        async with asyncio.timeout(deadline):
            program = await _started(link)
            return await _asked(machine, link, program, job, python=python, errors=errors)
    except TimeoutError as error:
        what = f"{job.verb} on {machine} gave no answer within {deadline:.0f} s"
        raise RequestFailed(what, "it may have been done all the same") from error
    except MachineError as error:
        raise RequestFailed(error.message, error.advice) from error
    finally:
        if program is not None:
            await program.close()


async def _started(link: Link) -> Program:
    try:
        return await link.start()
    except MachineError as error:
        raise RequestFailed(f"not sent: {error.message}", error.advice) from error


async def _asked(
    machine: MachineName,
    link: Link,
    program: Program,
    job: Job,
    *,
    python: str,
    errors: ErrorTail,
) -> Mapping[str, Any]:
    reading = asyncio.create_task(_keep_errors(program, errors))
    try:
        begun = await shake_hands(
            machine,
            link,
            program,
            python=python,
            source=job_source(job),
            arguments=(MARK,),
            errors=errors,
        )
        await program.write(_question(job))
        answer = await _line(machine, program, begun)
    except LinkLost as error:
        raise RequestFailed(error.message, error.advice) from error
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
    return _understood(machine, job, answer, errors)


def _question(job: Job) -> bytes:
    asked = {"verb": job.verb, "given": _plain(job.given), "secrets": _plain(job.secrets)}
    if job.body:
        asked["body"] = len(job.body)
    return json.dumps(asked).encode() + b"\n" + job.body


async def _keep_errors(program: Program, errors: ErrorTail) -> None:
    while data := await program.read_error():
        errors.add(data)


async def _line(machine: MachineName, program: Program, begun: bytes) -> bytes:
    """Return the one line of the answer; what came of it until an early end."""
    answer = bytearray(begun)
    while b"\n" not in answer:
        data = await program.read()
        if not data:
            break
        answer += data
        if len(answer) > MAX_ANSWER:
            raise RequestFailed(f"the answer of {machine} is larger than 8 MiB")
    return bytes(answer).partition(b"\n")[0]


def _understood(
    machine: MachineName, job: Job, answer: bytes, errors: ErrorTail
) -> Mapping[str, Any]:
    try:
        told = parse_object(answer)
    except AnswerMalformed:
        said = shown(errors.text(), 300) or "it said nothing"
        raise RequestFailed(f"{job.verb} on {machine} ended without an answer: {said}") from None
    if "failed" in told:
        raise JobFailed(shown(told["failed"], 600), shown(told.get("advice", ""), 300))
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return value
