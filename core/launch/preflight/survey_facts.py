"""The answer of a survey, decoded. Its text comes from a host, untrusted.

Every missing or malformed part counts as unknown, so that a partly broken answer can still be
judged.
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
    """One part of a survey.

    Attributes:
        state: Whether the part could be read.
        value: The value; None unless the state is ok.
        error: Why the value is missing, or a problem beside it.
    """

    state: ToolState = ToolState.UNKNOWN
    value: T | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The machine itself.

    Attributes:
        python: Version of the interpreter that ran the survey.
        load: Load averages over 1, 5 and 15 minutes.
        has_route: Whether the machine has a network route; None: unknown.
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
class LimitFacts:
    """Limits of the place where an eval will live. None: no limit, or unknown.

    Attributes:
        open_files: How many files a process may have open.
        processes_left: How many more processes and threads may start.
        memory: The limit of its control group, bytes.
    """

    open_files: int | None = None
    processes_left: int | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TmuxServerFacts:
    """The tmux server of evalroom's runs, if one runs: its sessions have its limits.

    Attributes:
        pid: Its process id.
        open_files: How many files a process in it may have open; None: no limit, or unknown.
    """

    pid: int
    open_files: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """The report of the machine's Inspect about a task.

    Attributes:
        state: `ok`; `no file`, `no task`, `no package`; `fails`: its import failed; `slow`: its
            import timed out; `unknown`.
        error: Why it is not ok.
        kind: Class name of the import error.
        module: The module that the import misses.
        place: File and line of the import error.
        near: Existing tasks with similar names.
        arguments: Names of its arguments; None: any, or unknown.
        sandbox: The sandbox in its code; None: none, or unknown.
        memory: Memory limit of one sample's containers in its compose file, bytes.
        images: The images that its containers need, as far as its file for Docker names them.
        missing_file: The file for Docker that it names and that does not exist; None: no such.
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
    images: tuple[str, ...] = ()
    missing_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectFacts:
    """The report of a run's interpreter about itself and its Inspect.

    Attributes:
        inspect: Version of Inspect; None: not installed.
        packages: Versions of the requested packages; None: not installed.
        options: The options of `inspect eval-set`; None: unknown.
        imported: Whether Inspect could be imported.
        broken: Why it could not.
        error: Why the answer is incomplete; empty: it is complete.
        tasks: The tasks by their arguments in the request.
    """

    inspect: str | None = None
    packages: Mapping[str, str | None] = field(default_factory=_none)
    options: tuple[str, ...] | None = None
    imported: bool = False
    broken: str = ""
    error: str = ""
    tasks: Mapping[str, TaskFacts] = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class UvFacts:
    """The installed uv."""

    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerFacts:
    """A Docker that answers.

    Attributes:
        version: Version of the engine.
        compose: Version of Compose; None: not installed.
        running: Number of running containers.
        used: Memory that they use, bytes; None: unknown.
        memory: Memory limit for all containers, bytes.
        has_proxy: Whether it pulls through a proxy or a mirror.
    """

    version: str = ""
    compose: str | None = None
    running: int | None = None
    used: int | None = None
    memory: int | None = None
    has_proxy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """An image that a task needs.

    Attributes:
        there: Whether Docker has it.
        registry: The address of its registry, if Docker does not have it.
        error: Why that registry can't be reached; empty: it can.
    """

    there: bool
    registry: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationFacts:
    """The folder in which a run would reserve GPUs, and the held reservations.

    Attributes:
        folder: The folder, as it was asked for.
        held: The held reservations.
        why: Why the folders before it can't be used; empty: it is the first one.
    """

    folder: str
    held: tuple[Reservation, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFacts:
    """A folder, or its nearest existing parent.

    Attributes:
        full: Its real path.
        near: The path itself if it exists, else its nearest existing parent.
        exists: Whether the path itself exists.
        is_folder: Whether `near` is a folder.
        is_writable: Whether `near` is writable.
        disk: Device number of its disk.
        total, free: Size and free space of its disk, bytes.
        has_files_left: Whether the disk has room for another file.
        read_only, no_exec: How its disk is mounted.
        eval_set: Id of the eval-set in it; None: no eval-set.
        tasks: Name and model of each task of that eval-set.
        logs: Number of logs in it.
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
    """A run's folder: whether it exists, and whether its script was started."""

    exists: bool = False
    is_started: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEval:
    """A running eval of any user; `run` is its run id, None if evalroom did not launch it."""

    pid: int
    user: str | None = None
    run: str | None = None
    log_dir: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFacts:
    """What is cached and needs no download.

    Attributes:
        offline: Set variables that forbid downloads to Hugging Face's libraries.
        hub: The cache folder of Hugging Face.
        models: Whether each requested model is cached.
        datasets: Number of cached datasets.
        tokenizer: Whether the mock model's tokenizer file is cached.
    """

    offline: tuple[str, ...] = ()
    hub: str = ""
    models: Mapping[str, bool] = field(default_factory=_none)
    datasets: int = 0
    tokenizer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyFacts:
    """The whole answer of a survey.

    Attributes:
        temporary: The folder for temporary files.
        session: What ends the login's processes with its session: `step`, `service`, `container`
            or `logout`; `entered`: it entered a container that stays; None: nothing is known.
        child: Pid and start of the process that the survey left behind.
        outlives: Whether that process was seen over a fresh link; None: not tried.
        variables: Names of the requested variables that the login sets.
        places, logs, runs: Folders by their paths in the request.
        images: The images that the tasks need, by name.
        programs: Versions of programs by name.
        hosts: Whether servers were reachable, by `host:port`.
    """

    host: SurveyPart[HostFacts] = SurveyPart()
    limits: SurveyPart[LimitFacts] = SurveyPart()
    tmux_server: SurveyPart[TmuxServerFacts] = SurveyPart()
    temporary: SurveyPart[FolderFacts] = SurveyPart()
    session: SurveyPart[str | None] = SurveyPart()
    child: SurveyPart[tuple[int, str]] = SurveyPart()
    outlives: bool | None = None
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
    images: Mapping[str, SurveyPart[ImageFacts]] = field(default_factory=_none)
    programs: Mapping[str, SurveyPart[str]] = field(default_factory=_none)
    hosts: Mapping[str, SurveyPart[str]] = field(default_factory=_none)


def parse_survey(answer: Mapping[str, Any]) -> SurveyFacts:
    """Decode the answer of a survey; malformed parts become unknown."""
    return SurveyFacts(
        host=_part(answer, "machine", _as(HostFacts)),
        limits=_part(answer, "limits", _as(LimitFacts)),
        tmux_server=_part(answer, "tmux_server", _as(TmuxServerFacts)),
        temporary=_part(answer, "temporary", _as(FolderFacts)),
        session=_part(answer, "session", _session),
        child=_part(answer, "child", _child),
        inspect=_part(answer, "inspect", _inspect),
        uv=_part(answer, "uv", _as(UvFacts)),
        docker=_part(answer, "docker", _as(DockerFacts)),
        gpus=_part(answer, "gpus", _rows(Gpu)),
        reservations=_part(answer, "reservations", _as(ReservationFacts)),
        running=_part(answer, "running", _rows(RunningEval)),
        caches=_part(answer, "caches", _as(CacheFacts)),
        variables=_part(answer, "variables", _rows(str)),
        places=_parts(answer, "places", _as(FolderFacts)),
        logs=_parts(answer, "logs", _as(FolderFacts)),
        runs=_parts(answer, "runs", _as(RunFolderFacts)),
        images=_parts(answer, "images", _as(ImageFacts)),
        programs=_parts(answer, "programs", _as(str)),
        hosts=_parts(answer, "hosts", _as(str)),
    )


_Read = Callable[[Any], T]


def _part(answer: Mapping[str, Any], name: str, read: _Read[T]) -> SurveyPart[T]:
    row = inner(answer, name)
    try:
        state = ToolState(text(row, "state") or "")
    except ValueError:
        return SurveyPart()
    if state is not ToolState.OK:
        return SurveyPart(state=state, error=text(row, "error") or "")
    try:
        return SurveyPart(state=state, value=read(row.get("value")), error=text(row, "error") or "")
    except (msgspec.ValidationError, RecursionError, OverflowError):
        return SurveyPart()


def _parts(answer: Mapping[str, Any], name: str, read: _Read[T]) -> Mapping[str, SurveyPart[T]]:
    rows = inner(inner(answer, name), "value")
    return MappingProxyType({key: _part(rows, key, read) for key in rows})


def _as(kind: type[T]) -> _Read[T]:
    return lambda value: msgspec.convert(value, kind)


def _rows(kind: type[T]) -> _Read[tuple[T, ...]]:
    """Return a decoder for a list that skips malformed rows."""

    def read(value: Any) -> tuple[T, ...]:
        out: list[T] = []
        for row in msgspec.convert(value, list[Any]):
            try:
                out.append(msgspec.convert(row, kind))
            except msgspec.ValidationError:
                continue
        return tuple(out)

    return read


def _session(value: Any) -> str | None:
    return msgspec.convert(value, str | None)


def _child(value: Any) -> tuple[int, str]:
    return msgspec.convert(value, tuple[int, str])


def _inspect(value: Any) -> InspectFacts:
    row = msgspec.convert(value, dict[str, Any])
    tasks: dict[str, TaskFacts] = {}
    for name, answer in inner(row, "tasks").items():
        try:
            tasks[name] = msgspec.convert(answer, TaskFacts)
        except msgspec.ValidationError:
            tasks[name] = TaskFacts()
    plain = {key: each for key, each in row.items() if key != "tasks" and each is not None}
    found = msgspec.convert(plain, InspectFacts)
    return replace(found, tasks=MappingProxyType(tasks))
