"""Builds the POSIX shell script that starts a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.launch.engines.engine import EXIT_ALREADY_STARTED
from core.launch.plan.bootstrap import BOOTSTRAP
from core.quoting import path_word, program_word, quoted

GPU_HOLDER_FILE = "gpu_holder.py"
"""The file in a run's folder that reserves GPUs and starts the run on them."""

_RECORD_HOST = (
    "{ uname -n; date +%s; cat /proc/sys/kernel/random/boot_id; readlink /proc/self/ns/pid;"
    " cat /etc/machine-id; } >started/host 2>/dev/null"
)
_RECORD_LAUNCHED = (
    """pid=$(sed -n 's/.*"event": "launch".*"pid": \\([0-9]\\{1,9\\}\\).*/\\1/p'"""
    """ launch.json.part | tail -n 1)
cat "/proc/${pid:-none}/stat" >started/stat 2>/dev/null"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """The command that a script starts, and how it starts it.

    Attributes:
        run: The id of the run.
        directory: The run's folder; `~/` is the home.
        words: The command, one argument each.
        at_home: Indexes of the arguments that start with the home's `~/`.
        starter: The interpreter for `BOOTSTRAP`.
        variables: Plain variables with their values.
        secrets: Names of the variables that get secret values.
        secrets_from: Where their values are: `-` for standard input, or a path; None: no
            secrets.
        inherit: `INSPECT_*` variables of the login to keep.
        data_dir: The XDG_DATA_HOME to set; None: the login's, or `~/.local/share`.
        python_path: A folder to add to PYTHONPATH; None: no folder.
        has_terminal: Whether output goes to a terminal; else it goes to files.
        gpus: How many GPUs to reserve; the GPU holder gives them to the run.
        gpu_locks: The folder of GPU reservations; None: the default folders.
    """

    run: str
    directory: str
    words: tuple[str, ...]
    at_home: frozenset[int]
    starter: str
    variables: Mapping[str, str]
    secrets: tuple[str, ...]
    secrets_from: str | None
    inherit: tuple[str, ...]
    data_dir: str | None
    python_path: str | None
    has_terminal: bool
    gpus: int = 0
    gpu_locks: str | None = None


def start_script(start: StartOptions) -> str:
    """Return the script; it runs its command at most once, however often it is started.

    Raises:
        UsageWrong: An argument holds a character that a shell can't pass on.
    """
    return "\n".join((*_place(start), *_environment(start), *_command(start), ""))


def _place(start: StartOptions) -> list[str]:
    return [
        "#!/bin/sh",
        f"# evalroom run {start.run}. It starts only once, even if this script runs again.",
        "login_umask=$(umask)",
        "umask 077",
        f"cd {path_word(start.directory)} || exit 73",
        "if ! mkdir started 2>/dev/null; then",
        # mkdir also fails on a full disk: that does not count as started before.
        '    [ -d started ] || { echo "evalroom: cannot write in $PWD" >&2; exit 73; }',
        f"    echo {quoted(f'evalroom: run {start.run} was started before')} >&2",
        "    cat launch.json 2>/dev/null",
        f"    exit {EXIT_ALREADY_STARTED}",
        "fi",
        # Whose process it is, for every machine that shares this folder.
        _RECORD_HOST,
    ]


def _environment(start: StartOptions) -> list[str]:
    # The GPU holder is not the eval: it passes the run's id on, but must not carry it itself.
    run = "unset EVALROOM_RUN" if start.gpus else f"export EVALROOM_RUN={quoted(start.run)}"
    lines = [run]
    if start.secrets:  # a core dump would keep their values on the disk
        lines.append("ulimit -S -c 0 2>/dev/null")
    if start.data_dir is not None:
        lines.append(f"export XDG_DATA_HOME={path_word(start.data_dir)}")
    else:  # set it, so that no .env file changes it
        lines.append(
            'case "${XDG_DATA_HOME:-}" in /*) ;; *) XDG_DATA_HOME="$HOME/.local/share" ;; esac'
        )
        lines.append("export XDG_DATA_HOME")
    lines += [f"export {name}={quoted(value)}" for name, value in start.variables.items()]
    if start.python_path is not None:
        where = start.python_path
        folder = path_word(where) if where.startswith(("/", "~/")) else f'"$PWD"/{quoted(where)}'
        lines.append(f'export PYTHONPATH={folder}"${{PYTHONPATH:+:$PYTHONPATH}}"')
    return lines


def _command(start: StartOptions) -> list[str]:
    stay = (*start.inherit, *start.variables, *start.secrets)
    source = start.secrets_from or ""
    words = [
        *_holder(start),
        program_word(start.starter),
        "-I",
        "-c",
        quoted(BOOTSTRAP),
        quoted(",".join(name for name in stay if name.startswith("INSPECT_"))),
        quoted(",".join(start.secrets)),
        path_word(source) if source else quoted(""),
        *(
            path_word(word) if index in start.at_home else quoted(word)
            for index, word in enumerate(start.words)
        ),
    ]
    line = " ".join(words)
    # Only this folder is private: the eval's logs elsewhere, and what it builds, have usual modes.
    usual = 'umask "$login_umask"'
    if start.has_terminal:
        return ["cat /proc/$$/stat >started/stat 2>/dev/null", usual, f"exec {line}"]
    # Into files first: Inspect must not notice that a broken link closed our output.
    return [
        ": >launch.json.part; : >launch.err",  # private
        usual,
        f"{line} >launch.json.part 2>launch.err",
        "status=$?",
        "umask 077",
        # The eval's process, which its pid alone does not tell from a later one.
        _RECORD_LAUNCHED,
        "mv launch.json.part launch.json",
        "cat launch.json",
        "cat launch.err >&2",
        'exit "$status"',
    ]


def _holder(start: StartOptions) -> list[str]:
    if not start.gpus:
        return []
    way = "become" if start.has_terminal else "keep"
    folder = quoted("") if start.gpu_locks is None else path_word(start.gpu_locks)
    python = program_word(start.starter)
    return [python, "-I", GPU_HOLDER_FILE, str(start.gpus), folder, way, quoted(start.run)]
