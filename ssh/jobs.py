"""Runs the jobs of a launch: each is a short program on its own channel.

The program gets one line of JSON on its standard input (with any secrets) and answers with one
line between marks (`core.program_answers`), so that nothing else that is printed there is taken
for its answer. Nothing is passed as an argument: other users could read it with `ps`.
"""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any, cast

from core.ctl.decode import parse_object
from core.errors import AnswerMalformed, JobFailed, LinkLost, MachineError, RequestFailed
from core.ids import MachineName
from core.model.job import Job
from core.program_answers import AnswerReader
from core.text import shown
from ssh.handshake import ErrorTail, start_python
from ssh.links.link import Link, Program
from ssh.shipped_program import shipped_program

MAX_JOBS_PER_LINK = 2
"""Most jobs at once on one link: sshd limits channels (MaxSessions), and the probe uses one."""
MAX_ANSWER_BYTES = 8 * 1024 * 1024
JOB_MARKER = "evalroom-job"
"""The program's first argument; identifies it in `ps`."""


def job_source(job: Job) -> bytes:
    """Return the source of a job's program, as it is sent to the machine."""
    return shipped_program(job.program)


async def do_job(
    machine: MachineName, link: Link, job: Job, *, python: str, deadline: float
) -> Mapping[str, Any]:
    """Run a job over an open link and return its program's answer.

    Args:
        machine: For messages.
        link: An open link.
        job: The job.
        python: The interpreter on the machine, 3.8 or newer.
        deadline: Timeout of the whole job, seconds.

    Raises:
        JobFailed: The program reported a failure.
        RequestFailed: The link was lost or the deadline passed. Unless the message starts with
            "not sent", the job may have been done anyway.
    """
    program: Program | None = None
    errors = ErrorTail(bytearray())
    try:
        async with asyncio.timeout(deadline):
            program = await _start_shell(link)
            return await _run_job(machine, link, program, job, python=python, errors=errors)
    except TimeoutError as error:
        what = f"no answer to {job.verb} from {machine} within {deadline:.0f} s"
        raise RequestFailed(what, "it may have been done anyway: check before you retry") from error
    except MachineError as error:
        raise RequestFailed(error.message, error.advice) from error
    finally:
        if program is not None:
            await program.close()


async def _start_shell(link: Link) -> Program:
    try:
        return await link.start()
    except MachineError as error:
        raise RequestFailed(f"not sent: {error.message}", error.advice) from error


async def _run_job(
    machine: MachineName,
    link: Link,
    program: Program,
    job: Job,
    *,
    python: str,
    errors: ErrorTail,
) -> Mapping[str, Any]:
    reading = asyncio.create_task(errors.collect(program))
    try:
        first_bytes = await start_python(
            machine,
            link,
            program,
            python=python,
            source=job_source(job),
            arguments=(JOB_MARKER,),
            errors=errors,
        )
        await program.write(_request_line(job))
        answer = await _read_answer(machine, program, job, first_bytes, errors)
    except LinkLost as error:
        raise RequestFailed(error.message, error.advice) from error
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
    return _decoded(machine, job, answer)


def _request_line(job: Job) -> bytes:
    request = {"verb": job.verb, "given": _plain(job.given), "secrets": _plain(job.secrets)}
    if job.body:
        request["body"] = len(job.body)
    return json.dumps(request).encode() + b"\n" + job.body


async def _read_answer(
    machine: MachineName, program: Program, job: Job, first_bytes: bytes, errors: ErrorTail
) -> bytes:
    reader, data = AnswerReader(MAX_ANSWER_BYTES), first_bytes
    try:
        while (answer := reader.feed(data)) is None:
            data = await program.read()
            if not data:
                await errors.wait_whole()
                output = shown(errors.text(), 300) or "no error output"
                raise RequestFailed(f"{job.verb} on {machine} ended without an answer: {output}")
    except AnswerMalformed as error:
        raise RequestFailed(f"{machine} sent {error.message}") from error
    return answer


def _decoded(machine: MachineName, job: Job, answer: bytes) -> Mapping[str, Any]:
    try:
        found = parse_object(answer)
    except AnswerMalformed as error:
        raise RequestFailed(f"{job.verb} on {machine}: {machine} sent {error.message}") from error
    if "failed" in found:
        raise JobFailed(shown(found["failed"], 600), shown(found.get("advice", ""), 300))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return value
