"""`evalroom attach ID`: open a run's own display in this terminal, or print the command."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Never

from cli.commands.desk_protocols import DeskReader
from cli.commands.runs import known_run, launches_running
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.runs import AttachCommand
from cli.render.plain import print_json, print_lines
from cli.wiring.config import config_of
from cli.wiring.terminal import has_terminal
from core.config.model import MachineConfig
from core.errors import UsageWrong
from core.launch.run.attach_command import terminal_command
from core.launch.run.service import DeskLaunchService
from core.quoting import plain_word
from core.text import shown
from ssh.links.agent import environment_with, present_agent
from storage.paths import paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """A run's own display.

    Attributes:
        words: The command that opens it in a terminal on this computer.
        environment: The variables of that command.
    """

    run: str
    words: tuple[str, ...]
    environment: Mapping[str, str]


def attach(command: AttachCommand, options: GlobalOptions) -> int:
    """Run `evalroom attach`; return the exit status.

    Raises:
        UsageWrong: The run is unknown, or has no display of its own.
    """
    config = config_of(options)
    found: list[Display] = []

    async def find() -> int:
        async with launches_running(config, options) as (desk, launches):
            display = await display_of(
                desk,
                launches,
                command.name,
                machines=config.machines,
                known_hosts=(str(paths().known_hosts),),
                timeout=command.timeout,
            )
        found.append(display)
        return 0

    status = run_loop(find())
    return show(found[0], as_json=command.as_json) if found else status


async def display_of(
    desk: DeskReader,
    launches: DeskLaunchService,
    name: str,
    *,
    machines: Sequence[MachineConfig],
    known_hosts: Sequence[str],
    timeout: float,
) -> Display:
    """Return the display of a run.

    Raises:
        UsageWrong: The name matches no run, or several; the run has no display; or its machine is
            not in the config.
    """
    run = await known_run(desk, launches, name, timeout)
    if not run.attach:
        raise UsageWrong(
            f"run {run.id} has no display of its own", f"use: evalroom output {run.id}"
        )
    machine = next((each for each in machines if each.name == run.machine), None)
    if machine is None:
        raise UsageWrong(f"machine {shown(run.machine)} is not in the config")
    words = terminal_command(machine, run.attach, known_hosts=known_hosts)
    return Display(run=run.id, words=words, environment=await environment_to_attach())


async def environment_to_attach() -> Mapping[str, str]:
    """Return the variables of a command that attaches.

    It gets the ssh agent that links use, which is that of the present login inside tmux too. It
    does not get tmux's own variables: tmux refuses to run inside another tmux.
    """
    environment = environment_with(await present_agent(None))
    return {k: v for k, v in environment.items() if k not in {"TMUX", "TMUX_PANE"}}


def show(display: Display, *, as_json: bool) -> int:
    """Open a display in this terminal; without a terminal, or for JSON, print its command.

    Raises:
        UsageWrong: The program can't be started here.
    """
    if as_json:
        print_json({"run_id": display.run, "words": list(display.words)})
        return 0
    if not has_terminal():
        line = " ".join(plain_word(word) for word in display.words)
        print_lines([shown(line, len(line))])
        return 0
    return become(display.words, display.environment)


def become(words: tuple[str, ...], environment: Mapping[str, str]) -> Never:
    """Replace this process with a program.

    Raises:
        UsageWrong: The program can't be started here.
    """
    try:
        os.execvpe(words[0], words, environment)  # noqa: S606 - no shell reads them
    except OSError as error:
        raise UsageWrong(f"can't start {shown(words[0])} here: {error.strerror}") from None
