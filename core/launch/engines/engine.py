"""What an engine is: how a run's script is started on a machine, and what the start answered.

An engine is pure: it makes words and shell text, and reads what came back. Whoever carries a
launch out writes the files of a run into its folder, starts one of them there with `/bin/sh`,
and hands exit status, output and errors to `read`. The same two texts stand in the run's folder
as `launch.json` and `launch.err`, so that they can be read again after a link was cut.
"""

from dataclasses import dataclass
from typing import Protocol

EXIT_ALREADY_STARTED = 75
"""The exit status of a script whose run was started before."""
SECRETS_FOLDER = "~/.evalroom/secrets"
"""The folder, 0700, of secrets on their way into a run that has no standard input of ours."""


@dataclass(frozen=True, slots=True)
class FileOutput:
    """What a run prints is in a file.

    Attributes:
        path: On its machine; without a leading `/` or `~/` from the run's folder.
    """

    path: str


@dataclass(frozen=True, slots=True)
class ScreenOutput:
    """What a run prints is on a screen.

    Attributes:
        words: The command that prints what stands there now, on the run's machine.
    """

    words: tuple[str, ...]


OutputSource = FileOutput | ScreenOutput
"""Where what a run prints is to be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartResult:
    """What a start that went well answered. Text in it is a host's, and untrusted.

    Attributes:
        pid: Of the eval's process; None: not told, the run is found by its id.
        log_dir: Absolute, or with a scheme; None: not told.
        eval_run_id, eval_set_id: Inspect's own ids; None: not told.
        socket: Of its control channel; None: not told, or there is none.
        is_complete: Whether nothing had to run: its log folder held it all before.
        attach: The words that attach to it in a terminal of its machine; empty: nothing does.
        output: Where what it prints is; None: not told.
    """

    pid: int | None = None
    log_dir: str | None = None
    eval_run_id: str | None = None
    eval_set_id: str | None = None
    socket: str | None = None
    is_complete: bool = False
    attach: tuple[str, ...] = ()
    output: OutputSource | None = None


class Engine(Protocol):
    """One way to start a run.

    Attributes:
        name: As a spec names it.
        has_terminal: Whether Inspect has a terminal, and so a display for a person.
        start_timeout_s: Seconds after its start within which a run's process must be seen;
            it failed then, and its output says why.
        needs: The program that must be on the machine; None: there is none.
    """

    name: str
    has_terminal: bool
    start_timeout_s: float
    needs: str | None

    def words(self, display: str | None) -> tuple[str, ...]:
        """Return what is appended to Inspect's command."""
        ...

    def secrets_from(self, run: str) -> str:
        """Return where a run's script reads its secrets.

        `-`: one line of JSON on its standard input. Otherwise the path of a file in
        `SECRETS_FOLDER`, mode 0600, that holds this line; the script deletes it once read.
        """
        ...

    def start(self, run: str, task: str) -> str | None:
        """Return the POSIX shell text that starts the run's script, in the run's folder.

        It ends soon whatever the run does, starts at most once however often it is run
        (`EXIT_ALREADY_STARTED`, and prints what it printed before), and leaves what it prints as
        `launch.json` and `launch.err`. None: the run's script does all that itself.
        """
        ...

    def attach(self, run: str, task: str) -> tuple[str, ...]:
        """Return the words that are going to attach to it; empty: nothing does.

        The start may have to take another name: then `StartResult.attach` tells the true ones.
        """
        ...

    def read(self, status: int, out: str, err: str) -> StartResult:
        """Return what a start answered.

        Args:
            status: Its exit status. `EXIT_ALREADY_STARTED` without output: the run was started
                before, and its output was lost.
            out: Its standard output, untrusted.
            err: Its standard error, untrusted.

        Raises:
            JobFailed: It failed: a sentence, and what to look at first.
        """
        ...
