"""The engine `tmux`: Inspect's display in a detached session of evalroom's own tmux server.

The server starts with a clean environment and without a configuration file: plugins in a
user's configuration may end or restore sessions. A run gets its variables from its script.
"""

from typing import Annotated

import msgspec

from core.errors import JobFailed
from core.launch.engines.engine import (
    EXIT_ALREADY_STARTED,
    SECRETS_FOLDER,
    ScreenOutput,
    StartResult,
)
from core.launch.engines.start_failures import start_failure
from core.launch.engines.tmux_sessions import (
    TMUX_COMMAND,
    attach_command,
    is_session_name,
    screen_command,
    session_name,
)
from core.program_answers import objects_in
from core.quoting import quoted

SCREEN_COLUMNS, SCREEN_ROWS = 200, 50
"""Size of a session while no terminal shows it, characters."""
SCROLLBACK_LINES = 10_000
EXIT_NO_TMUX = 69
"""Exit status if tmux is not installed."""

GPU_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
)
"""Variables of the login that bound the GPUs of its programs."""
_HINT = " C-b d detaches (inside tmux: C-b C-b d); the eval keeps running "


class TmuxEngine:
    """Starts `inspect eval-set` on a terminal that stays when nobody is attached.

    The pane also stays when the eval ends, so that its last screen can be read. An operator
    ends the session, after a preview.
    """

    name = "tmux"
    has_terminal = True
    start_timeout_s = 120.0
    needs: str | None = "tmux"

    def words(self, display: str | None) -> tuple[str, ...]:
        """See `Engine.words`."""
        return ("--display", display or "full")

    def secrets_from(self, run: str) -> str:
        """See `Engine.secrets_from`."""
        return f"{SECRETS_FOLDER}/{run}"

    def start(self, run: str, task: str) -> str | None:
        """See `Engine.start`."""
        return _START.format(
            run=run,
            already=EXIT_ALREADY_STARTED,
            no_tmux=EXIT_NO_TMUX,
            tmux=" ".join(TMUX_COMMAND),
            clean=_CLEAN_ENV,
            own=_RUN_ENV,
            name=quoted(session_name(run, task)),
            size=f"-x {SCREEN_COLUMNS} -y {SCREEN_ROWS}",
            lines=SCROLLBACK_LINES,
            hint=quoted(_HINT),
        )

    def attach(self, run: str, task: str) -> tuple[str, ...]:
        """See `Engine.attach`."""
        return attach_command(session_name(run, task))

    def read(self, status: int, out: str, err: str) -> StartResult:
        """See `Engine.read`."""
        session = _session(out)
        if session is not None:
            return StartResult(
                attach=attach_command(session), output=ScreenOutput(screen_command(session))
            )
        if status == EXIT_ALREADY_STARTED and not out.strip():
            return StartResult()
        if status == EXIT_NO_TMUX:
            raise JobFailed(
                "the run did not start: tmux is not installed",
                'install tmux on the machine, or use engine = "detach"',
            )
        raise start_failure(f"{out}\n{err}", status)


class _SessionRecord(msgspec.Struct, frozen=True):
    """The line that the start script prints."""

    session: Annotated[str, msgspec.Meta(max_length=200)]


def _session(out: str) -> str | None:
    for found in objects_in(out, "session"):
        try:
            record = msgspec.json.decode(found, type=_SessionRecord)
        except (msgspec.DecodeError, RecursionError):
            continue
        if is_session_name(record.session):
            return record.session
    return None


_CLEAN_ENV = (
    'HOME="$HOME" PATH="$PATH" LANG="${LANG:-C.UTF-8}" SHELL="${SHELL:-/bin/sh}" '
    'USER="${USER:-$(id -un)}"'
)
_RUN_ENV = " ".join(
    (
        _CLEAN_ENV,
        *(
            f'${{{name}:+{name}="${name}"}}'
            for name in ("TMPDIR", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
        ),
        # Set but empty, these hide every GPU.
        *(f'${{{name}+{name}="${name}"}}' for name in GPU_VARIABLES),
    )
)
"""The environment of a run, besides TERM: it does not depend on who started the server."""

_START = """\
#!/bin/sh
# evalroom run {run}, in tmux. It starts only once, even if this script runs again.
login_umask=$(umask)
umask 077
if ! mkdir launched 2>/dev/null; then
    [ -d launched ] || {{ echo "evalroom: cannot write in $PWD" >&2; exit 73; }}
    cat launch.json 2>/dev/null
    exit {already}
fi
in_tmux() {{
    env -i TERM="${{TERM:-xterm}}" {clean} ${{TMUX_TMPDIR:+TMUX_TMPDIR="$TMUX_TMPDIR"}} \\
        {tmux} -f /dev/null "$@"
}}
start() {{
    command -v tmux >/dev/null || return {no_tmux}
    name={name}
    session=$name
    more=1
    while in_tmux has-session -t "=$session" 2>/dev/null; do
        more=$((more + 1))
        session=$name-$more
    done
    in_tmux start-server \\; \\
        set-option -g default-terminal screen-256color \\; \\
        set-option -g history-limit {lines} \\; \\
        set-option -g status-left-length 80 \\; \\
        set-option -g status-right-length 80 \\; \\
        set-option -g status-right {hint} \\; \\
        set-window-option -g remain-on-exit on \\; \\
        new-session -d -s "$session" {size} \\
        /bin/sh -c 'umask "$1"; shift; exec env -i TERM="$TERM" "$@"' sh "$login_umask" \\
        {own} /bin/sh start.sh \\; \\
        set-option -t "=$session:" @run {run} >&2 || return
    printf '{{"session": "%s"}}\\n' "$session"
}}
start >launch.json.part 2>launch.err
status=$?
mv launch.json.part launch.json
cat launch.json
cat launch.err >&2
exit "$status"
"""
