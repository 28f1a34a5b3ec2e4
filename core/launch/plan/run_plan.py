"""All that a launch will do on its machine, known before anything is touched there."""

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

RUNS_FOLDER = "~/.evalroom/runs"
"""The folder of all runs on a machine."""
UV_PATH = "~/.evalroom/bin/uv"
"""What runs Inspect where no interpreter is given."""
SCRIPT_FILE = "start.sh"
LAUNCH_SCRIPT_FILE = "launch.sh"
FILE_MODE = 0o600
FOLDER_MODE = 0o700

_RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{8}")
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_DEFAULT_PYTHON = "python3"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run, ready to be started.

    Attributes:
        run: Its id.
        machine: Where it runs.
        directory: Its folder there; `~/` is the home.
        files: What is written, by the path from that folder; each with `FILE_MODE`.
        script: The POSIX shell text that starts it, once; it is among the files too.
        starts_with: The file that `/bin/sh` runs in the folder to start it: the script's, or
            that of its engine, which has the script run.
        command: Inspect's exact command; a word of `at_home` begins with the home's `~/`.
        variables: Plain variables that are set, with their values.
        secrets: Variables to the names of the secrets that they hold; the values are nowhere.
        secrets_from: Where the script reads these: `-` is one line of JSON on its standard
            input, else a file that it removes; None: there are none.
        attach: The words that are going to attach to it in a terminal there; empty: none do.
        python: The interpreter that runs Inspect; None: uv runs it.
        data_dir: The XDG_DATA_HOME that the script sets; None: the login's.
        log_dir: As Inspect is told; without a leading `/`, `~/` or scheme from the folder.
        means: What happens on an error, a sentence.
        worst: How many sample runs it may come to.
        warnings: Sentences.
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
        """What was asked for, of this run alone."""
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
        """The exact command for a POSIX shell in the run's folder."""
        return " ".join(
            path_word(word) if index in self.at_home else plain_word(word)
            for index, word in enumerate(self.command)
        )


def run_id(now: float, random: bytes) -> str:
    """Return the id of a run: sortable by its start, unique, and safe in every path.

    Args:
        now: Unix seconds.
        random: At least 8 bytes of chance.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return f"{stamp}-{''.join(_LETTERS[byte % len(_LETTERS)] for byte in random[:8])}"


def is_run_id(text: str) -> bool:
    """Whether it may be an id of `run_id`."""
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
    """Return the plan of a launch on a machine.

    Args:
        request: What is asked for.
        machine: One of its candidates.
        run: The id, of `run_id`.
        built_in: The files of ours that a run may need there, by name: of the built-in tasks,
            and what holds GPUs.
        inspect_version: The Inspect that uv gets where the spec names none.
        own_python: The interpreter of this evalroom, which has Inspect: it serves on this
            computer where neither spec nor config gives one.

    Raises:
        SpecWrong: The machine is no candidate.
    """
    if machine.name not in request.candidates:
        raise SpecWrong(f"{machine.name} is no machine that this launch may run on")
    if not is_run_id(run):
        raise SpecWrong("the id of a run is none")
    spec = request.spec
    directory = f"{RUNS_FOLDER}/{run}"
    python = given_python(spec, machine, own_python)
    log_dir = _log_dir(request, run)
    made = eval_set_args.eval_set_args(request, log_dir=log_dir)
    before = _inspect(spec, python, inspect_version)
    engine = engine_named(spec.engine)
    words = (*before, *made.words, *engine.words(spec.display))
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
                # Inspect reads the nearest .env from here up: this one says nothing.
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
    """Return the interpreter that is given, which has Inspect already; None: uv gets it.

    Args:
        spec: Versions and further packages are uv's to get, whatever is given.
        machine: An interpreter that its config names serves too.
        own: As `make_plan`'s `own_python`.
    """
    if spec.packages or spec.inspect is not None:
        return None
    if spec.python is not None:
        return None if is_version(spec.python) else spec.python
    return machine_python(machine, own)


def machine_python(machine: MachineConfig, own: str | None) -> str | None:
    """Return the interpreter with Inspect that a machine has for any run; None: uv gets it.

    Args:
        machine: As the config names it.
        own: As `make_plan`'s `own_python`.
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
    # Not `uv run`: its environment is gone with it, and a detached eval is not.
    pinned = ("--from", f"inspect-ai=={spec.inspect or version}")
    # Offline: all of it is in uv's cache by then, and a start waits for no network.
    return (UV_PATH, "tool", "run", "--offline", *asked, *pinned, *more, "inspect")


def _log_dir(request: RunRequest, run: str) -> str:
    """Return where logs go; runs of one matrix never share a folder: eval-set refuses that."""
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
