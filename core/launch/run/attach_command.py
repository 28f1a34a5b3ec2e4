"""Builds the command that connects the operator's terminal to a program on a machine.

For programs that a person watches: the display of a run, Inspect's ACP client.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath

from core.config.model import MachineConfig
from core.errors import UsageWrong
from core.launch.engines.tmux_sessions import viewing_command
from core.quoting import command_line, quoted, ssh_config_word
from core.text import shown

KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
"""The system's files of host keys, which ssh reads by default."""

_SHELL = "/bin/sh"
_AGENT_FLAGS = re.compile(r"-[46AaCfGgKkMNnqsTtVvXxYy]*[AXY][46AaCfGgKkMNnqsTtVvXxYy]*")
"""Options of ssh without a value, among them one that forwards the agent or the display."""
_SSH = frozenset({"ssh", "autossh"})
_SSH_WITH_TERMINAL = ("-tax", "-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes")
"""ssh forwards neither the operator's agent nor the display nor ports, whatever ssh_config says.
If ssh_config has a RemoteCommand, ssh refuses evalroom's command without the option against it."""
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc"})
_LAUNCHERS = frozenset({"srun"})
# Hosts rarely have the terminfo of new terminals; this one is close enough to all of them.
_KNOWN_TERM = "infocmp >/dev/null 2>&1 || export TERM=xterm-256color"


def is_here(machine: MachineConfig) -> bool:
    """Whether a machine is this computer, so that no link is needed."""
    return machine.link == "command" and not machine.command


def terminal_command(
    machine: MachineConfig, words: Sequence[str], *, known_hosts: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the command that runs `words` on a machine, in the present terminal.

    ssh may ask in it for a passphrase, a code, or to confirm a host key.

    On a read-only machine, the display of a run takes no input, and every other program is refused.
    ssh never forwards the operator's agent or display.

    Args:
        machine: Where; it is reached the way its link is made.
        words: The program and its arguments.
        known_hosts: Files with the host keys that evalroom accepted.

    Raises:
        UsageWrong: A word holds a character that an argument can't; or the machine is read-only,
            and the program is not the display of a run.
    """
    if machine.read_only:
        words = _viewing(machine, words)
    line = command_line(tuple(words))
    if is_here(machine):
        return tuple(words)
    script = f"{_KNOWN_TERM}; exec {line}"
    if machine.link == "command":
        return (*_with_terminal(machine.command), *_in_shell(machine.command, script))
    return (*_ssh(machine, known_hosts), f"{_SHELL} -c {quoted(script)}")


def _viewing(machine: MachineConfig, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a display that takes no input."""
    viewing = viewing_command(words)
    if viewing is None:
        raise UsageWrong(
            f"{shown(machine.name)} is read-only: evalroom opens no program there that takes input",
            "the display of a run in tmux can be watched",
        )
    return viewing


def _ssh(machine: MachineConfig, known_hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the ssh command for a machine whose link uses asyncssh."""
    files = [*known_hosts, *([machine.known_hosts] if machine.known_hosts else [])]
    listed = " ".join(ssh_config_word(each) for each in (*KNOWN_HOSTS, *files))
    return (
        "ssh",
        *_SSH_WITH_TERMINAL,
        *(("-F", machine.ssh_config) if machine.ssh_config else ()),
        *(("-l", machine.user) if machine.user else ()),
        *(("-p", str(machine.port)) if machine.port else ()),
        *(("-i", machine.identity) if machine.identity else ()),
        *(("-o", f"GlobalKnownHostsFile={listed}") if files else ()),
        machine.host or machine.name,
    )


def _in_shell(command: Sequence[str], script: str) -> tuple[str, ...]:
    # ssh joins its arguments with spaces and gives them to a remote shell.
    return (_SHELL, "-c", quoted(script) if _is_ssh(command[0]) else script)


def _with_terminal(command: Sequence[str]) -> tuple[str, ...]:
    """Return a link's command with the options that give its program a terminal."""
    out: list[str] = []
    programs: set[str] = set()
    for index, word in enumerate(command):
        name = PurePath(word).name
        programs.add(name)
        if word == "-T":  # the link itself wants no terminal
            continue
        if _is_ssh(PurePath(command[0]).name) and _AGENT_FLAGS.fullmatch(word):
            word = word.replace("A", "a").replace("X", "x").replace("Y", "x")  # noqa: PLW2901
        out.append(word)
        if index == 0 and _is_ssh(word):
            out += _SSH_WITH_TERMINAL
        elif name in _LAUNCHERS:
            out.append("--pty")
        elif word == "exec" and programs & _CONTAINERS:
            out.append("-it")
    return tuple(out)


def _is_ssh(program: str) -> bool:
    return PurePath(program).name in _SSH
