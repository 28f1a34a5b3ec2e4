"""The engine `detach`: Inspect puts itself into the background and prints its launch record."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from core.launch.engines.engine import ALREADY, FileOutput, Started
from core.launch.engines.start_failures import failure_of

if TYPE_CHECKING:
    from core.launch.spec.spec import Spec

_LINE_LIMIT = 64 * 1024


class Detach:
    """Starts `inspect eval-set ... --detach`, whose record says that it can be watched."""

    name = "detach"
    has_terminal = False
    is_starting_for = 60.0
    needs: str | None = None

    def words(self, spec: "Spec") -> tuple[str, ...]:
        """See `Engine.words`."""
        del spec
        return ("--detach",)

    def secrets_from(self, run: str) -> str:
        """See `Engine.secrets_from`."""
        del run
        return "-"

    def start(self, run: str, spec: "Spec") -> str | None:
        """See `Engine.start`."""
        del run, spec
        return None

    def attach(self, run: str, spec: "Spec") -> tuple[str, ...]:
        """See `Engine.attach`."""
        del run, spec
        return ()

    def read(self, status: int, out: str, err: str) -> Started:
        """See `Engine.read`."""
        for line in out.splitlines():
            record = _record(line)
            if record is not None:
                return _started(record)
        if status == ALREADY and not out.strip():
            return Started()
        raise failure_of(f"{out}\n{err}", status)


_Text = Annotated[str, msgspec.Meta(max_length=4096)]


class _Control(msgspec.Struct, frozen=True):
    socket_path: _Text | None = None


class _Record(msgspec.Struct, frozen=True):
    """A line that Inspect prints: `launch`, or `done` alone where all was complete before."""

    event: _Text
    pid: Annotated[int, msgspec.Meta(gt=0)] | None = None
    run_id: _Text | None = None
    eval_set_id: _Text | None = None
    log_dir: _Text | None = None
    output_file: _Text | None = None
    control: _Control | None = None


def _record(line: str) -> _Record | None:
    if not line.startswith("{") or len(line) > _LINE_LIMIT:
        return None
    try:
        record = msgspec.json.decode(line, type=_Record)
    except (msgspec.DecodeError, RecursionError):
        return None
    is_launch = record.event == "launch" and record.pid is not None
    return record if is_launch or record.event == "done" else None


def _started(record: _Record) -> Started:
    control = record.control
    return Started(
        pid=record.pid,
        log_dir=record.log_dir,
        eval_run_id=record.run_id,
        eval_set_id=record.eval_set_id,
        socket=None if control is None else control.socket_path,
        is_complete=record.event == "done",
        output=None if record.output_file is None else FileOutput(record.output_file),
    )
