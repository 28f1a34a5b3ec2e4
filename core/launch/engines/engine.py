"""The interface of an engine: how a run's script is started on a machine.

An engine is pure: it builds arguments and shell text, and parses the output of the start. The
starter writes the files of a run into its folder, runs one of them with `/bin/sh`, and passes
exit status, output and errors to `Engine.read`. The run's folder keeps both texts as
`launch.json` and `launch.err`, so that they can be read again after the link was lost.
"""

from dataclasses import dataclass
from typing import Protocol

EXIT_ALREADY_STARTED = 75
"""Exit status of a script whose run was started before."""
SECRETS_FOLDER = "~/.evalroom/secrets"
"""The folder, mode 0700, of the secrets of runs that do not read them from standard input."""


@dataclass(frozen=True, slots=True)
class FileOutput:
    """The run prints into a file.

    Attributes:
        path: On its machine; relative paths start at the run's folder.
    """

    path: str


@dataclass(frozen=True, slots=True)
class ScreenOutput:
    """The run prints onto a terminal screen.

    Attributes:
        words: The command that prints the present screen, on the run's machine.
    """

    words: tuple[str, ...]


OutputSource = FileOutput | ScreenOutput
"""Where the output of a run can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartResult:
    """The answer of a successful start. Its text comes from a host, untrusted.

    Attributes:
        pid: The eval's process; None: unknown, the run is found by its id.
        log_dir: Absolute, or with a scheme; None: unknown.
        is_complete: Whether nothing had to run, because the log folder was complete before.
        attach: The command that shows it in a terminal of its machine; empty: it has none.
        output: Where its output is; None: unknown.
    """

    pid: int | None = None
    log_dir: str | None = None
    is_complete: bool = False
    attach: tuple[str, ...] = ()
    output: OutputSource | None = None


class Engine(Protocol):
    """One way to start a run.

    Attributes:
        name: The engine's name in a spec.
        has_terminal: Whether Inspect runs on a terminal, with its display.
        start_timeout_s: If the process does not appear within this many seconds of the start,
            the run has failed.
        needs: The program that it needs on the machine; None: it needs none.
    """

    name: str
    has_terminal: bool
    start_timeout_s: float
    needs: str | None

    def words(self, display: str | None) -> tuple[str, ...]:
        """Return the arguments to append to Inspect's command; `display` is the spec's."""
        ...

    def secrets_from(self, run: str) -> str:
        """Return where the script of a run reads its secrets.

        `-`: one line of JSON on its standard input. Otherwise the path of a file in
        `SECRETS_FOLDER`, mode 0600, that holds this line; the script deletes it once read.
        """
        ...

    def start(self, run: str, task: str) -> str | None:
        """Return the POSIX shell text that starts the run's script, in the run's folder.

        The text returns within seconds, whatever the run does. It starts the script only once:
        a second call prints the first call's output and ends with `EXIT_ALREADY_STARTED`. It
        keeps its output as `launch.json` and `launch.err`. None: the script does all that itself.
        """
        ...

    def attach(self, run: str, task: str) -> tuple[str, ...]:
        """Return the command that will show the run in a terminal; empty: it has none.

        The start may choose another session name; then `StartResult.attach` has the command.
        """
        ...

    def read(self, status: int, out: str, err: str) -> StartResult:
        """Parse the output of a start.

        Args:
            status: Its exit status. `EXIT_ALREADY_STARTED` without output: the run was started
                before, and its output was lost.
            out: Its standard output, untrusted.
            err: Its standard error, untrusted.

        Raises:
            JobFailed: The start failed; message and advice say why.
        """
        ...
