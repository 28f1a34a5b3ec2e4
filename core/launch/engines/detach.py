"""The engine `detach`: Inspect starts in the background and prints a launch record."""

from typing import Annotated

import msgspec

from core.launch.engines.engine import EXIT_ALREADY_STARTED, FileOutput, StartResult
from core.launch.engines.start_failures import start_failure
from core.program_answers import objects_in


class DetachEngine:
    """Starts `inspect eval-set ... --detach`; its launch record means that it can be watched."""

    name = "detach"
    has_terminal = False
    start_timeout_s = 60.0
    needs: str | None = None

    def words(self, display: str | None) -> tuple[str, ...]:
        """See `Engine.words`."""
        del display
        return ("--detach",)

    def secrets_from(self, run: str) -> str:
        """See `Engine.secrets_from`."""
        del run
        return "-"

    def start(self, run: str, task: str) -> str | None:
        """See `Engine.start`."""
        del run, task
        return None

    def attach(self, run: str, task: str) -> tuple[str, ...]:
        """See `Engine.attach`."""
        del run, task
        return ()

    def read(self, status: int, out: str, err: str) -> StartResult:
        """See `Engine.read`."""
        for found in objects_in(out, "event"):
            record = _record(found)
            if record is not None:
                return _started(record)
        if status == EXIT_ALREADY_STARTED and not out.strip():
            return StartResult()
        raise start_failure(f"{out}\n{err}", status)


_Text = Annotated[str, msgspec.Meta(max_length=4096)]


class _LaunchRecord(msgspec.Struct, frozen=True):
    """What Inspect prints: `launch`, or only `done` if the log folder was complete."""

    event: _Text
    pid: Annotated[int, msgspec.Meta(gt=0)] | None = None
    log_dir: _Text | None = None
    output_file: _Text | None = None


def _record(found: str) -> _LaunchRecord | None:
    try:
        record = msgspec.json.decode(found, type=_LaunchRecord)
    except (msgspec.DecodeError, RecursionError):
        return None
    is_launch = record.event == "launch" and record.pid is not None
    return record if is_launch or record.event == "done" else None


def _started(record: _LaunchRecord) -> StartResult:
    return StartResult(
        pid=record.pid,
        log_dir=record.log_dir,
        is_complete=record.event == "done",
        output=None if record.output_file is None else FileOutput(record.output_file),
    )
