"""The command that gives an operator's terminal to a program on a machine.

What watches a machine takes no terminal; this is for the programs that a person wants to see
there: a run's own display, Inspect's client for steering a sample.
"""

from collections.abc import Sequence
from pathlib import PurePath

from core.config.model import MachineConfig
from core.quoting import command_line, quoted

KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
"""Where ssh looks for host keys that nobody wrote by answering it."""

_SHELL = "/bin/sh"
_SSH = frozenset({"ssh", "autossh"})
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc"})
_LAUNCHERS = frozenset({"srun"})
# A host seldom knows the newest terminals; all of them act as this one well enough.
_KNOWN_TERM = "infocmp >/dev/null 2>&1 || export TERM=xterm-256color"


def is_here(machine: MachineConfig) -> bool:
    """Whether a machine is this computer, reached by nothing."""
    return machine.link == "command" and not machine.command


def terminal_command(
    machine: MachineConfig, words: Sequence[str], *, known_hosts: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the command that runs `words` on a machine in the terminal that it is started in.

    It may ask: for a passphrase, a code, whether a host key is right.

    Args:
        machine: Where; how its link is made says how it is reached.
        words: The program and its arguments there.
        known_hosts: Files of this computer with host keys that were accepted, beside ssh's own.

    Raises:
        UsageWrong: A word holds what no argument can.
    """
    line = command_line(tuple(words))
    if is_here(machine):
        return tuple(words)
    script = f"{_KNOWN_TERM}; exec {line}"
    if machine.link == "command":
        return (*_with_terminal(machine.command), *_in_shell(machine.command, script))
    return (*_ssh(machine, known_hosts), f"{_SHELL} -c {quoted(script)}")


def _ssh(machine: MachineConfig, known_hosts: Sequence[str]) -> tuple[str, ...]:
    """Return OpenSSH's words for a machine that the library's own link reaches otherwise."""
    files = [*known_hosts, *([machine.known_hosts] if machine.known_hosts else [])]
    listed = " ".join(f'"{each}"' for each in (*KNOWN_HOSTS, *files))
    return (
        "ssh",
        "-t",
        *(("-l", machine.user) if machine.user else ()),
        *(("-p", str(machine.port)) if machine.port else ()),
        *(("-i", machine.identity) if machine.identity else ()),
        *(("-o", f"GlobalKnownHostsFile={listed}") if files else ()),
        machine.host or machine.name,
    )


def _in_shell(command: Sequence[str], script: str) -> tuple[str, ...]:
    # ssh hands its words to a shell there, joined by spaces.
    return (_SHELL, "-c", quoted(script) if _is_ssh(command[0]) else script)


def _with_terminal(command: Sequence[str]) -> tuple[str, ...]:
    """Return a link's command so that what it starts has a terminal, where that is known how."""
    out: list[str] = []
    programs: set[str] = set()
    for index, word in enumerate(command):
        name = PurePath(word).name
        programs.add(name)
        if word == "-T":  # no terminal: for the link
            continue
        out.append(word)
        if index == 0 and _is_ssh(word):
            out.append("-t")
        elif name in _LAUNCHERS:
            out.append("--pty")
        elif word == "exec" and programs & _CONTAINERS:
            out.append("-it")
    return tuple(out)


def _is_ssh(program: str) -> bool:
    return PurePath(program).name in _SSH
