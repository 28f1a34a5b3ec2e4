"""Runs the jobs of a launch: each is a short program on its own channel.

The program gets one line of JSON on its standard input (with any secrets) and answers with one
line between marks (`core.program_answers`), so that nothing else that is printed there is taken
for its answer. Nothing is passed as an argument: other users could read it with `ps`.
"""

import asyncio
import contextlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from core.ctl.decode import parse_object
from core.errors import AnswerMalformed, JobFailed, MachineError, RequestFailed
from core.ids import MachineName
from core.model.job import Job
from core.program_answers import AnswerReader
from core.text import shown
from ssh.handshake import ErrorTail, incomplete_python, start_python
from ssh.links.link import Link, Program
from ssh.shipped_program import sent_program

MAX_JOBS_PER_LINK = 2
"""Most jobs at once on one link: sshd limits channels (MaxSessions), and the probe uses one."""
MAX_ANSWER_BYTES = 8 * 1024 * 1024
JOB_MARKER = "evalroom-job"
"""The program's first argument; identifies it in `ps`."""


def job_source(job: Job) -> bytes:
    """Return the source of a job's program, as it is sent to the machine."""
    return sent_program(job.program)


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
    running = _RunningJob(ErrorTail(bytearray()))
    try:
        async with asyncio.timeout(deadline):
            running.program = await link.start()
            return await _run_job(machine, link, running, job, python=python)
    except TimeoutError as error:
        what = f"no answer to {job.verb} from {machine} within {deadline:.0f} s"
        raise running.failed(job, what) from error
    except MachineError as error:
        raise running.failed(job, error.message, error.advice) from error
    finally:
        if running.program is not None:
            await running.program.close()


@dataclass(slots=True)
class _RunningJob:
    """A job on its way.

    Attributes:
        errors: The standard error of its program.
        program: Its program; None: not started.
        is_sent: Whether the link got the request: from then on it may be done.
    """

    errors: ErrorTail
    program: Program | None = None
    is_sent: bool = False

    def failed(self, job: Job, message: str, advice: str = "") -> RequestFailed:
        """Return the error of a job without an answer."""
        if not self.is_sent:
            return RequestFailed(f"not sent: {message}", advice)
        if job.changes:
            advice = "it may have been done anyway: check before you retry"
        return RequestFailed(message, advice)


async def _run_job(
    machine: MachineName, link: Link, running: _RunningJob, job: Job, *, python: str
) -> Mapping[str, Any]:
    program, errors = running.program, running.errors
    assert program is not None  # noqa: S101 - the caller started it
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
        running.is_sent = True
        nonce = secrets.token_hex(16)
        await program.write(_request_line(job, nonce))
        reader = AnswerReader(MAX_ANSWER_BYTES, nonce=nonce)
        answer = await _read_answer(machine, running, job, reader, first_bytes)
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
    return _decoded(machine, job, answer)


def _request_line(job: Job, nonce: str) -> bytes:
    request = {"verb": job.verb, "given": _plain(job.given), "secrets": _plain(job.secrets)}
    request["nonce"] = nonce
    if job.body:
        request["body"] = len(job.body)
    return json.dumps(request).encode() + b"\n" + job.body


async def _read_answer(
    machine: MachineName,
    running: _RunningJob,
    job: Job,
    reader: AnswerReader,
    data: bytes,
) -> bytes:
    program, errors = running.program, running.errors
    assert program is not None  # noqa: S101 - it was started
    try:
        while (answer := reader.feed(data)) is None:
            data = await program.read()
            if not data:
                await errors.wait_whole()
                incomplete = incomplete_python(machine, errors.text())
                if incomplete is not None:
                    raise incomplete
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
