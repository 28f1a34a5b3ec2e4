"""What a survey told of a machine. Text in it is a host's, and untrusted.

Nothing is taken for granted: what is missing, or not as it should be, is unknown, and that is
all. So no answer of a machine, however broken, keeps the rest of it from being judged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec

from core.ctl.decode import inner, text
from core.launch.preflight.gpu_reservations import Reservation
from core.model.machine import Gpu, Memory, ToolState

T = TypeVar("T")


def _none() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyPart(Generic[T]):
    """One thing that was looked at.

    Attributes:
        value: What was found; None unless the state is ok.
        error: Why nothing was found; empty where something was.
    """

    state: ToolState = ToolState.UNKNOWN
    value: T | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The machine itself.

    Attributes:
        python: The version of the interpreter that looked around.
        load: Mean number of runnable programs over 1, 5 and 15 minutes.
        has_route: Whether there is any way into a network; None: unknown.
    """

    python: str = ""
    platform: str = ""
    host: str = ""
    user: str = ""
    home: str = ""
    cpus: int | None = None
    load: tuple[float, ...] = ()
    memory: Memory = Memory()
    has_route: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What the machine's own Inspect says of a task.

    Attributes:
        state: `ok`; `no file`, `no task`, `no package`; `fails`: importing it does; `slow`:
            that was not done in its time; `unknown`.
        kind: Of the error that importing it raised.
        module: What that error misses.
        place: Where it was raised: file and line.
        near: Tasks that are there and may be meant.
        arguments: What it takes; None: anything, or unknown.
        sandbox: The one that its code names; None: none, or unknown.
        memory: What the compose file beside it allows one sample's containers together, bytes.
    """

    state: str = "unknown"
    error: str = ""
    kind: str = ""
    module: str | None = None
    place: str = ""
    near: tuple[str, ...] = ()
    arguments: tuple[str, ...] | None = None
    sandbox: str | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectFacts:
    """What the interpreter of a run says of itself and of its Inspect.

    Attributes:
        inspect: Its version; None: there is none.
        packages: The version of each that was asked for; None: it lacks it.
        options: Those of `inspect eval-set`; None: unknown.
        imported: Whether Inspect could be imported.
        broken: Why not.
        error: Why it ended before it had told all; empty: it told all.
        tasks: By the words that they were asked for with.
    """

    python: str = ""
    path: str = ""
    inspect: str | None = None
    packages: Mapping[str, str | None] = field(default_factory=_none)
    options: tuple[str, ...] | None = None
    imported: bool = False
    broken: str = ""
    error: str = ""
    tasks: Mapping[str, TaskFacts] = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class UvFacts:
    """The uv that is there."""

    path: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerFacts:
    """A Docker that answers.

    Attributes:
        compose: The version of its Compose; None: there is none.
        running: How many containers run.
        used: What these take together, bytes; None: unknown.
        memory: What containers may take at most, bytes.
        root: Where images are kept.
    """

    version: str = ""
    compose: str | None = None
    running: int | None = None
    used: int | None = None
    memory: int | None = None
    root: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationFacts:
    """Where a run would reserve its GPUs, and which are held there."""

    folder: str
    held: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFacts:
    """A folder, or the nearest one above it.

    Attributes:
        full: Its real path.
        near: The nearest that is there.
        exists: Whether it is there itself.
        is_folder: Whether the nearest is a folder.
        disk: What tells its disk from others.
        total, free: Of its disk, bytes.
        has_files_left: Whether a further file can be made on it.
        eval_set: The id of the eval-set in it; None: there is none.
        tasks: Of that eval-set: name and model.
        logs: How many logs are in it.
    """

    full: str
    near: str = ""
    exists: bool = False
    is_folder: bool = True
    is_writable: bool = True
    disk: int | None = None
    total: int | None = None
    free: int | None = None
    has_files_left: bool = True
    read_only: bool = False
    no_exec: bool = False
    eval_set: str | None = None
    tasks: tuple[tuple[str, str], ...] = ()
    logs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolderFacts:
    """A run's own folder: whether it is there, and whether its script was started."""

    exists: bool = False
    is_started: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEval:
    """An eval that runs there, of any user. `run` is what evalroom calls it; None: it did not."""

    pid: int
    user: str | None = None
    run: str | None = None
    log_dir: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFacts:
    """What lies there and need not be fetched.

    Attributes:
        offline: Variables that forbid Hugging Face's libraries to ask a network.
        hub: The folder of what they fetched.
        models: Whether each that was asked for is there.
        datasets: How many are there.
        tokenizer: Whether the file is there that the mock model's tokens are counted with.
    """

    offline: tuple[str, ...] = ()
    hub: str = ""
    models: Mapping[str, bool] = field(default_factory=_none)
    datasets: int = 0
    tokenizer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyFacts:
    """All that a survey told.

    Attributes:
        variables: Of those asked for, the ones that the login sets.
        places, logs, runs: By the paths that they were asked for with.
        programs: Versions, by their names.
        hosts: How each was reached, by `host:port`.
    """

    host: SurveyPart[HostFacts] = SurveyPart()
    inspect: SurveyPart[InspectFacts] = SurveyPart()
    uv: SurveyPart[UvFacts] = SurveyPart()
    docker: SurveyPart[DockerFacts] = SurveyPart()
    gpus: SurveyPart[tuple[Gpu, ...]] = SurveyPart()
    reservations: SurveyPart[ReservationFacts] = SurveyPart()
    running: SurveyPart[tuple[RunningEval, ...]] = SurveyPart()
    caches: SurveyPart[CacheFacts] = SurveyPart()
    variables: SurveyPart[tuple[str, ...]] = SurveyPart()
    places: Mapping[str, SurveyPart[FolderFacts]] = field(default_factory=_none)
    logs: Mapping[str, SurveyPart[FolderFacts]] = field(default_factory=_none)
    runs: Mapping[str, SurveyPart[RunFolderFacts]] = field(default_factory=_none)
    programs: Mapping[str, SurveyPart[str]] = field(default_factory=_none)
    hosts: Mapping[str, SurveyPart[str]] = field(default_factory=_none)


def parse_survey(told: Mapping[str, Any]) -> SurveyFacts:
    """Decode what a survey answered; what is not as it should be is unknown."""
    return SurveyFacts(
        host=_part(told, "machine", _as(HostFacts)),
        inspect=_part(told, "inspect", _inspect),
        uv=_part(told, "uv", _as(UvFacts)),
        docker=_part(told, "docker", _as(DockerFacts)),
        gpus=_part(told, "gpus", _rows(Gpu)),
        reservations=_part(told, "reservations", _as(ReservationFacts)),
        running=_part(told, "running", _rows(RunningEval)),
        caches=_part(told, "caches", _as(CacheFacts)),
        variables=_part(told, "variables", _rows(str)),
        places=_parts(told, "places", _as(FolderFacts)),
        logs=_parts(told, "logs", _as(FolderFacts)),
        runs=_parts(told, "runs", _as(RunFolderFacts)),
        programs=_parts(told, "programs", _as(str)),
        hosts=_parts(told, "hosts", _as(str)),
    )


_Read = Callable[[Any], T]


def _part(told: Mapping[str, Any], name: str, read: _Read[T]) -> SurveyPart[T]:
    row = inner(told, name)
    try:
        state = ToolState(text(row, "state") or "")
    except ValueError:
        return SurveyPart()
    if state is not ToolState.OK:
        return SurveyPart(state=state, error=text(row, "error") or "")
    try:
        return SurveyPart(state=state, value=read(row.get("value")))
    except (msgspec.ValidationError, RecursionError, OverflowError):
        return SurveyPart()


def _parts(told: Mapping[str, Any], name: str, read: _Read[T]) -> Mapping[str, SurveyPart[T]]:
    rows = inner(inner(told, name), "value")
    return MappingProxyType({key: _part(rows, key, read) for key in rows})


def _as(kind: type[T]) -> _Read[T]:
    return lambda value: msgspec.convert(value, kind)


def _rows(kind: type[T]) -> _Read[tuple[T, ...]]:
    """Return what reads a list; a row that is none is left out."""

    def read(value: Any) -> tuple[T, ...]:
        out: list[T] = []
        for row in msgspec.convert(value, list[Any]):
            try:
                out.append(msgspec.convert(row, kind))
            except msgspec.ValidationError:
                continue
        return tuple(out)

    return read


def _inspect(value: Any) -> InspectFacts:
    row = msgspec.convert(value, dict[str, Any])
    tasks: dict[str, TaskFacts] = {}
    for name, told in inner(row, "tasks").items():
        try:
            tasks[name] = msgspec.convert(told, TaskFacts)
        except msgspec.ValidationError:
            tasks[name] = TaskFacts()
    plain = {key: each for key, each in row.items() if key != "tasks" and each is not None}
    found = msgspec.convert(plain, InspectFacts)
    return replace(found, tasks=MappingProxyType(tasks))
