"""The plan of a run: everything that its launch does on the machine, made beforehand."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.config.model import MachineConfig
from core.errors import SpecWrong
from core.ids import MachineName
from core.launch.engines.registry import engine_named
from core.launch.plan import eval_set_args
from core.launch.plan.matrix import RunRequest
from core.launch.plan.start_script import GPU_HOLDER_FILE, StartOptions, start_script
from core.launch.plan.warnings import warnings_of
from core.launch.spec.rules import is_version
from core.launch.spec.spec import BUILT_IN_TASKS, Spec
from core.launch.spec.spec_writer import spec_file
from core.quoting import path_word, plain_word
from core.text import shown

RUN_METADATA = "evalroom_run"
"""The key of a run's id in the metadata of its logs."""
RUNS_FOLDER = "~/.evalroom/runs"
"""The folder of all runs on a machine."""
UV_PATH = "~/.evalroom/bin/uv"
"""The uv that runs Inspect if no interpreter is given."""
SCRIPT_FILE = "start.sh"
LAUNCH_SCRIPT_FILE = "launch.sh"
FILE_MODE = 0o600

_RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{8}")
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_DEFAULT_PYTHON = "python3"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The plan of one run on one machine.

    Attributes:
        run: The id of the run.
        request: What the spec asks for.
        machine: Where it runs.
        directory: Its folder on the machine; `~/` is the home.
        files: The files to write, by path from that folder; each gets `FILE_MODE`.
        script: The POSIX shell text that starts the run, once; also one of the files.
        starts_with: The file that `/bin/sh` runs to start it: the script, or the engine's file
            that runs the script.
        command: Inspect's exact command, one argument each.
        at_home: Indexes of the arguments of `command` that start with the home's `~/`.
        variables: The plain variables with their values.
        secrets: The names of secrets by the variables that get their values.
        secrets_from: Where the script reads the values: `-` is one line of JSON on standard
            input, else the path of a file that it deletes; None: it has no secrets.
        attach: The command that will show it in a terminal of the machine; empty: it has none.
        python: The interpreter that runs Inspect; None: uv runs it.
        data_dir: The XDG_DATA_HOME that the script sets; None: the login's.
        log_dir: The log folder in Inspect's command; relative paths start at `directory`.
        means: What happens on an error, one sentence.
        worst: The largest number of sample runs.
        warnings: Warnings about the spec, sentences.
    """

    run: str
    request: RunRequest
    machine: MachineName
    directory: str
    files: Mapping[str, bytes]
    script: str
    starts_with: str = SCRIPT_FILE
    command: tuple[str, ...]
    at_home: frozenset[int] = frozenset()
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    secrets_from: str | None = None
    attach: tuple[str, ...] = ()
    python: str | None = None
    data_dir: str | None = None
    log_dir: str = eval_set_args.LOGS_FOLDER
    means: str = ""
    worst: eval_set_args.WorstCase
    warnings: tuple[str, ...] = ()

    @property
    def spec(self) -> Spec:
        """The spec of this run alone."""
        return self.request.spec

    @property
    def inspect_words(self) -> tuple[str, ...]:
        """The words that run the machine's Inspect, up to its own sub-command."""
        return self.command[: self.command.index("eval-set")]

    @property
    def python_words(self) -> tuple[str, ...]:
        """The words that run the Python that has this run's Inspect; uv's take its cache alone."""
        return (self.python,) if self.python is not None else (*self.inspect_words[:-1], "python")

    @property
    def command_line(self) -> str:
        """The exact command, quoted for a POSIX shell in the run's folder."""
        return " ".join(
            path_word(word) if index in self.at_home else plain_word(word)
            for index, word in enumerate(self.command)
        )


def run_id(now: float, random: bytes) -> str:
    """Return a new id of a run: unique, sorted by time, and safe in paths.

    Args:
        now: Unix seconds.
        random: At least 8 random bytes.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return f"{stamp}-{''.join(_LETTERS[byte % len(_LETTERS)] for byte in random[:8])}"


def is_run_id(text: str) -> bool:
    """Whether text has the form of a run's id."""
    return _RUN_ID.fullmatch(text) is not None


def make_plan(
    request: RunRequest,
    machine: MachineConfig,
    *,
    run: str,
    built_in: Mapping[str, bytes],
    inspect_version: str,
    own_python: str | None = None,
) -> RunPlan:
    """Return the plan of a run on a machine.

    Args:
        request: What the spec asks for.
        machine: One of its candidates.
        run: The id of the run, from `run_id`.
        built_in: evalroom's own files by name: the built-in tasks and the GPU holder.
        inspect_version: The Inspect that uv installs if the spec names no version.
        own_python: evalroom's own interpreter, which has Inspect. It is used on this computer
            if neither spec nor config names one.

    Raises:
        SpecWrong: The machine is not a candidate, or the id is invalid.
    """
    if machine.name not in request.candidates:
        raise SpecWrong(f"this launch may not run on {machine.name}")
    if not is_run_id(run):
        raise SpecWrong(f"invalid run id: {shown(run)}")
    spec = request.spec
    directory = f"{RUNS_FOLDER}/{run}"
    python = given_python(spec, machine, own_python)
    log_dir = _log_dir(request, run)
    made = eval_set_args.eval_set_args(request, log_dir=log_dir)
    before = _inspect(spec, python, inspect_version)
    engine = engine_named(spec.engine)
    # Its logs bear its id: a log folder may hold those of other evals.
    mark = ("--metadata", f"{RUN_METADATA}={run}")
    words = (*before, *made.words, *mark, *engine.words(spec.display))
    at_home = frozenset(
        {index + len(before) for index in made.at_home}
        | {index for index, word in enumerate(before) if word.startswith("~/")}
    )
    secrets_from = engine.secrets_from(run) if spec.secrets else None
    launches = engine.start(run, spec.task[0])
    text = start_script(
        StartOptions(
            run=run,
            directory=directory,
            words=words,
            at_home=at_home,
            starter=machine.python,
            variables=spec.env,
            secrets=tuple(spec.secrets),
            secrets_from=secrets_from,
            inherit=spec.inherit,
            data_dir=machine.data_dir,
            python_path=_python_path(spec),
            has_terminal=engine.has_terminal,
            gpus=spec.gpus,
            gpu_locks=machine.gpu_locks,
        )
    )
    spec_name, spec_bytes = spec_file(spec)
    return RunPlan(
        run=run,
        request=request,
        machine=machine.name,
        directory=directory,
        files=MappingProxyType(
            {
                spec_name: spec_bytes,
                SCRIPT_FILE: text.encode(),
                **({} if launches is None else {LAUNCH_SCRIPT_FILE: launches.encode()}),
                # Inspect reads the nearest .env upwards: this empty one stops the search.
                ".env": b"",
                **made.files,
                **_task_file(spec, built_in),
                **({GPU_HOLDER_FILE: built_in[GPU_HOLDER_FILE]} if spec.gpus else {}),
            }
        ),
        script=text,
        starts_with=SCRIPT_FILE if launches is None else LAUNCH_SCRIPT_FILE,
        command=words,
        at_home=at_home,
        variables=MappingProxyType({**spec.env, "EVALROOM_RUN": run}),
        secrets=spec.secrets,
        secrets_from=secrets_from,
        attach=engine.attach(run, spec.task[0]),
        python=python,
        data_dir=machine.data_dir,
        log_dir=log_dir,
        means=eval_set_args.on_error_means(spec),
        worst=eval_set_args.worst_case(spec),
        warnings=warnings_of(request, python=python),
    )


def given_python(spec: Spec, machine: MachineConfig, own: str | None) -> str | None:
    """Return the interpreter to run Inspect with; None: uv installs and runs Inspect.

    Args:
        spec: Its `python` counts first; with `packages`, `inspect` or a version, uv does it.
        machine: Its `python` in the config counts next.
        own: See `own_python` of `make_plan`.
    """
    if spec.packages or spec.inspect is not None:
        return None
    if spec.python is not None:
        return None if is_version(spec.python) else spec.python
    return machine_python(machine, own)


def machine_python(machine: MachineConfig, own: str | None) -> str | None:
    """Return the interpreter that a machine offers to every run; None: uv installs Inspect.

    Args:
        machine: The machine's config.
        own: See `own_python` of `make_plan`.
    """
    if machine.python != _DEFAULT_PYTHON:
        return machine.python
    is_here = machine.link == "command" and not machine.command
    return own if is_here else None


def _inspect(spec: Spec, python: str | None, version: str) -> tuple[str, ...]:
    if python is not None:
        return (python, "-m", "inspect_ai")
    asked = () if spec.python is None else ("--python", spec.python)
    more = tuple(word for each in spec.packages for word in ("--with", each))
    # Not `uv run`: its temporary environment ends with it, but a detached eval keeps running.
    pinned = ("--from", f"inspect-ai=={spec.inspect or version}")
    # Offline: everything is in uv's cache by then, and a start must not wait for a network.
    return (UV_PATH, "tool", "run", "--offline", *asked, *pinned, *more, "inspect")


def _log_dir(request: RunRequest, run: str) -> str:
    """Return the log folder; runs of one spec get different ones, as eval-set requires."""
    given = request.spec.log_dir
    if given is None:
        return eval_set_args.LOGS_FOLDER
    return given if request.of == 1 else f"{given.rstrip('/')}/{run}"


def _python_path(spec: Spec) -> str | None:
    if spec.code is None:
        return None
    return spec.code.directory or eval_set_args.CODE_FOLDER


def _task_file(spec: Spec, built_in: Mapping[str, bytes]) -> dict[str, bytes]:
    task = BUILT_IN_TASKS.get(spec.task[0])
    if task is None:
        return {}
    name = f"{task.rpartition('/')[2]}.py"
    return {f"{eval_set_args.TASKS_FOLDER}/{name}": built_in[name]}
