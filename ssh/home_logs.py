"""Reads logs on this computer that no Inspect of their machine can read.

The file is copied through the link and read by the Inspect that evalroom is installed with, in a
process of its own with limits: a log is untrusted.
"""

import asyncio
import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from core.errors import AnswerMalformed, RequestFailed
from core.frames import Frame
from core.ports import Reply
from core.program_answers import AnswerReader
from core.text import shown
from ssh.shipped_program import sent_program

NO_INSPECT = "evalroom knows no Python with Inspect on this machine"
"""The probe's error (`ssh/shipped/common/log_reading.py`)."""
MAX_LOG_BYTES = 24 * 1024 * 1024
MAX_LOGS = 20
"""Logs of one request that are copied."""
READ_TIMEOUT_S = 60.0
KEPT_S = 120.0
"""Seconds for which the newest copy is kept for the next sample."""
_MAX_ANSWER_BYTES = 24 * 1024 * 1024
_MAX_MEMORY_BYTES = 4 * 1024**3
_MAX_REASON_CHARS = 200
_LIMITS = (
    f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({_MAX_MEMORY_BYTES},) * 2);"
    f" resource.setrlimit(resource.RLIMIT_CPU, ({READ_TIMEOUT_S:.0f},) * 2)\n"
)
_READS = frozenset({"summaries", "headers", "sample"})

Fetch = Callable[[Frame], Awaitable[Reply]]
"""Sends a frame to the probe of the log's machine; raises RequestFailed."""


@dataclass(frozen=True, slots=True)
class _Copy:
    """The newest copy of a log: sample after sample of it is opened."""

    location: str
    data: bytes


class HomeLogs:
    """Answers a read of logs of one machine from copies on this computer."""

    def __init__(self) -> None:
        self._newest: _Copy | None = None

    async def answer(self, frame: Frame, failed: Reply, fetch: Fetch) -> Reply:
        """Return the answer to a `logs` frame that failed for lack of Inspect.

        Args:
            frame: The frame.
            failed: The probe's answer; it is returned where nothing can be read here either.
            fetch: Asks the probe for the files.
        """
        asked = cast("Mapping[str, Any]", frame.head["asked"])
        if asked["what"] not in _READS:
            return failed
        is_sample = asked["what"] == "sample"
        locations = [asked["log"]] if is_sample else list(asked["logs"])[:MAX_LOGS]
        with tempfile.TemporaryDirectory(prefix="evalroom-log-") as folder:
            paths: dict[str, str] = {}
            answers: list[Mapping[str, Any]] = []
            for location in locations:
                try:
                    data = await self._copied(frame, location, fetch)
                except RequestFailed as error:
                    answers.append(_uncopied(location, error, is_sample=is_sample))
                    continue
                path = Path(folder) / f"{len(paths)}{Path(location).suffix}"
                await asyncio.to_thread(path.write_bytes, data)
                paths[str(path)] = location
            if paths:
                here = list(paths)
                wanted = {**asked, "log": here[0]} if is_sample else {**asked, "logs": here}
                found = await _read_here(wanted, folder)
                answers += [_of_machine(each, paths) for each in found]
        body = json.dumps({"answers": answers, "why": None}).encode()
        return replace(failed, status=0, error=None, body=body)

    async def _copied(self, frame: Frame, location: str, fetch: Fetch) -> bytes:
        newest = self._newest
        if frame.head["asked"]["what"] == "sample" and newest and newest.location == location:
            return newest.data
        asked = {"what": "file", "log": location, "bytes": MAX_LOG_BYTES}
        reply = await fetch(replace(frame, head={**frame.head, "asked": asked}))
        if reply.error is not None:
            raise RequestFailed(reply.error)
        copy = self._newest = _Copy(location, reply.body)
        asyncio.get_running_loop().call_later(KEPT_S, self._drop, copy)
        return reply.body

    def _drop(self, copy: _Copy) -> None:
        if self._newest is copy:
            self._newest = None


def _uncopied(location: str, error: RequestFailed, *, is_sample: bool) -> Mapping[str, Any]:
    why = f"{NO_INSPECT}, and the log can't be copied: {shown(error.message, _MAX_REASON_CHARS)}"
    if is_sample:
        return {"status": 500, "body": json.dumps({"error": why})}
    return {"log": location, "error": why}


def _of_machine(answer: Mapping[str, Any], paths: Mapping[str, str]) -> Mapping[str, Any]:
    """Return an answer about a copy as one about the log on its machine."""
    location = paths.get(str(answer.get("log")))
    if location is None:
        return answer
    header: object = answer.get("header")
    if not isinstance(header, dict):
        return {**answer, "log": location}
    # The times of a copy are not those of the log, and its buffer is on the machine.
    known = {**cast("dict[str, Any]", header), "is_copy": True}
    known.update(last_written_at=None, buffer=None)
    return {**answer, "log": location, "header": known}


async def _read_here(asked: Mapping[str, Any], folder: str) -> Sequence[Mapping[str, Any]]:
    """Run the log script on this computer; return its answers, which may be incomplete."""
    nonce = secrets.token_hex(16)
    source = _LIMITS + sent_program("log_script").decode()
    env = {
        "PATH": os.defpath, "HOME": folder, "XDG_DATA_HOME": folder, "LC_ALL": "C.UTF-8",
        "EVALROOM_ANSWER": nonce,
    }  # fmt: skip
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", source, json.dumps(asked),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=env, cwd=folder, start_new_session=True,
    )  # fmt: skip
    out = bytearray()
    try:
        async with asyncio.timeout(READ_TIMEOUT_S):
            while child.stdout is not None and (data := await child.stdout.read(65_536)):
                out += data
                if len(out) > _MAX_ANSWER_BYTES:
                    break
    except TimeoutError:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
    return await asyncio.to_thread(_answers, bytes(out), nonce)


def _answers(output: bytes, nonce: str) -> Sequence[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for line in output.split(b"\n"):
        with suppress(AnswerMalformed, ValueError, RecursionError):
            text = AnswerReader(_MAX_ANSWER_BYTES, nonce=nonce).feed(line)
            value: object = None if text is None else json.loads(text)
            if isinstance(value, dict):
                found.append(cast("dict[str, Any]", value))
    return found
