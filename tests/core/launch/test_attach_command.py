import shlex
import subprocess
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.errors import UsageWrong
from core.ids import MachineName
from core.launch.run.attach_command import terminal_command

GPU = MachineName("gpu")
TERMINAL = ("-tax", "-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes")
WORDS = ("tmux", "attach-session", "-t", "=it's $(x)")


def _script(word: str) -> list[str]:
    """The command that the remote shell runs."""
    shell, flag, script = shlex.split(word)
    assert (shell, flag) == ("/bin/sh", "-c")
    return shlex.split(script.partition("; exec ")[2])


def test_on_this_computer_a_program_is_run_as_it_is() -> None:
    assert terminal_command(MachineConfig(name=GPU, link="command"), WORDS) == WORDS


FULL = MachineConfig(name=GPU, host="gpu.example.org", user="eval", port=2222, identity="/k y")
TOLD = MachineConfig(name=GPU, known_hosts="/my known")
FILES = ('"/etc/ssh/ssh_known_hosts"', '"/etc/ssh/ssh_known_hosts2"', '"/ours"', '"/my known"')


@pytest.mark.parametrize(
    ("machine", "known", "words"),
    [
        (MachineConfig(name=GPU), (), ["ssh", *TERMINAL, "gpu"]),
        (FULL, (), ["ssh", *TERMINAL, "-l", "eval", "-p", "2222", "-i", "/k y", "gpu.example.org"]),
        (
            TOLD,
            ("/ours",),
            ["ssh", *TERMINAL, "-o", f"GlobalKnownHostsFile={' '.join(FILES)}", "gpu"],
        ),
    ],
)
def test_a_machine_behind_the_library_is_reached_by_ssh(
    machine: MachineConfig, known: tuple[str, ...], words: list[str]
) -> None:
    *ssh, there = terminal_command(machine, WORDS, known_hosts=known)
    assert ssh == words
    assert _script(there) == list(WORDS)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("ssh", "-T", "-o", "X=1", "gpu"), ("ssh", *TERMINAL, "-o", "X=1", "gpu")),
        (("/usr/bin/ssh", "gpu", "docker", "exec", "-i", "box"),
         ("/usr/bin/ssh", *TERMINAL, "gpu", "docker", "exec", "-it", "-i", "box")),
    ],
)  # fmt: skip
def test_ssh_of_a_command_gets_a_terminal_and_quoted_words(
    command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    found = terminal_command(MachineConfig(name=GPU, link="command", command=command), WORDS)
    assert found[: len(words)] == words
    assert _script(" ".join(found[len(words) :])) == list(WORDS)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("docker", "exec", "-i", "box"), ("docker", "exec", "-it", "-i", "box")),
        (("docker", "compose", "exec", "-T", "box"), ("docker", "compose", "exec", "-it", "box")),
        (("kubectl", "-n", "x", "exec", "-i", "pod", "--"),
         ("kubectl", "-n", "x", "exec", "-it", "-i", "pod", "--")),
        (("srun", "--overlap", "--jobid=1"), ("srun", "--pty", "--overlap", "--jobid=1")),
        (("sudo", "-u", "eval"), ("sudo", "-u", "eval")),
        (("mine", "exec"), ("mine", "exec")),
    ],
)  # fmt: skip
def test_other_commands_get_a_terminal_where_it_is_known_how(
    command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    found = terminal_command(MachineConfig(name=GPU, link="command", command=command), WORDS)
    assert found[: len(words)] == words
    shell, flag, script = found[len(words) :]
    assert (shell, flag) == ("/bin/sh", "-c")
    assert _script(shlex.join([shell, flag, script])) == list(WORDS)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("-A", "-a"), ("-tA", "-ta"), ("-X", "-x"), ("-CY", "-Cx"), ("-o", "-o"), ("-J", "-J")],
)
def test_the_operators_agent_is_never_forwarded(given: str, kept: str) -> None:
    machine = MachineConfig(name=GPU, link="command", command=("ssh", given, "gpu"))
    assert terminal_command(machine, WORDS)[len(TERMINAL) + 1] == kept


def test_no_agent_is_forwarded_whatever_ssh_config_says(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host *\n ForwardAgent yes\n ForwardX11 yes\n LocalForward 1 h:1\n")
    machine = MachineConfig(name=GPU, ssh_config=str(config))
    *words, _ = terminal_command(machine, WORDS)
    answer = subprocess.run(
        [words[0], "-G", *words[1:]], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"forwardagent no", "forwardx11 no", "clearallforwardings yes"} <= set(answer)


def test_a_word_that_no_argument_can_hold_is_refused() -> None:
    with pytest.raises(UsageWrong):
        terminal_command(MachineConfig(name=GPU), ("tmux", "a\0b"))
