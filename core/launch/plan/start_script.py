"""The POSIX shell text that starts a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.launch.engines.engine import EXIT_ALREADY_STARTED
from core.launch.plan.bootstrap import BOOTSTRAP
from core.quoting import path_word, program_word, quoted

GPU_HOLDER_FILE = "gpu_holder.py"
"""The file of a run's folder that reserves its GPUs and starts it on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """What a script starts.

    Attributes:
        words: The command; those of `at_home` begin with the home's `~/`.
        starter: The interpreter of the few lines that become Inspect.
        secrets: Names of variables.
        secrets_from: `-`: standard input; a path; None: there are none.
        inherit: `INSPECT_*` variables of the login that stay.
        data_dir: None: the login's, or the usual one.
        python_path: A folder whose modules are the run's; None: there is none.
        has_terminal: Whether output is for a person at a terminal, or is kept in files.
        gpus: How many are reserved; the holder sets what says which.
        gpu_locks: The folder of reservations; None: the usual ones.
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
    """Return the text; it runs its command at most once, however often it is started.

    Raises:
        UsageWrong: A word holds what no argument can.
    """
    return "\n".join((*_place(start), *_environment(start), *_command(start), ""))


def _place(start: StartOptions) -> list[str]:
    return [
        "#!/bin/sh",
        f"# Run {start.run} of evalroom. It starts once, however often this is run.",
        "umask 077",
        f"cd {path_word(start.directory)} || exit 73",
        "if ! mkdir started 2>/dev/null; then",
        # A full disk is no second start.
        '    [ -d started ] || { echo "evalroom: nothing can be written in $PWD" >&2; exit 73; }',
        f"    echo {quoted(f'evalroom: run {start.run} was started before')} >&2",
        "    cat launch.json 2>/dev/null",
        f"    exit {EXIT_ALREADY_STARTED}",
        "fi",
    ]


def _environment(start: StartOptions) -> list[str]:
    # What holds GPUs is no eval: it gives the eval the run's id, and has it not itself.
    run = "unset EVALROOM_RUN" if start.gpus else f"export EVALROOM_RUN={quoted(start.run)}"
    lines = [run]
    if start.data_dir is not None:
        lines.append(f"export XDG_DATA_HOME={path_word(start.data_dir)}")
    else:  # pinned, so that no .env moves it
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
    if start.has_terminal:
        return [f"exec {line}"]
    # In files first: what a link that is cut does to our output must not reach Inspect.
    return [
        f"{line} >launch.json.part 2>launch.err",
        "status=$?",
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
