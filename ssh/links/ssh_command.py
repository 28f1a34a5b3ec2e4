"""The options that evalroom puts before those of a command link's ssh.

ssh takes the first value of an option, so these win over ssh_config.
"""

from collections.abc import Sequence
from pathlib import PurePath

from ssh.links.config_parser import Options
from ssh.links.ssh_query import NoSshToAsk, SshRejected, ask_ssh

SERVER_ALIVE = {"ServerAliveInterval": "5", "ServerAliveCountMax": "3"}
"""How ssh notices a dead network, where nobody has set ServerAliveInterval."""
CONNECT_TIMEOUT = {"ConnectTimeout": "10"}
"""How long ssh may take to connect, where nobody has set it, seconds."""
_HARMFUL = {
    "remotecommand": ("RemoteCommand", "none"),
    "sessiontype": ("SessionType", "default"),
    "stdinnull": ("StdinNull", "no"),
    "forkafterauthentication": ("ForkAfterAuthentication", "no"),
}
"""Options for people's own sessions that would take a link's shell or its input away."""
_TAKE_VALUES = frozenset("BbcDEeFIiJLlmOopPQRSWw")
"""Options of ssh with a value, in the same word or in the next one."""
_FORWARDS = ("localforward", "remoteforward", "dynamicforward")
_LENT = {"forwardagent": "ForwardAgent", "forwardx11": "ForwardX11"}
"""Options that lend the operator's agent or display to the machine."""


def is_ssh(command: Sequence[str]) -> bool:
    """Return whether `command` runs OpenSSH's client."""
    return bool(command) and PurePath(command[0]).name == "ssh"


def takes_ssh_options(command: Sequence[str]) -> bool:
    """Return whether `command` is an ssh or an autossh, which hands its options to ssh."""
    return bool(command) and PurePath(command[0]).name in {"ssh", "autossh"}


def has_remote_command(command: Sequence[str]) -> bool:
    """Return whether an ssh or autossh names a command for its host, such as `docker exec`."""
    words = list(command[1:] if is_ssh(command) else _of_ssh(command[1:]))
    has_host = False
    while words:
        word = words.pop(0)
        if word.startswith("-") and len(word) > 1:
            found = next((at for at, each in enumerate(word[1:]) if each in _TAKE_VALUES), None)
            if found is not None and found == len(word) - 2 and words:
                words.pop(0)
        elif has_host:
            return True
        else:
            has_host = True
    return False


async def effective_options(command: Sequence[str]) -> Options:
    """Return the options that `command`, an ssh or autossh, would use; empty if ssh can't be asked.

    Connects to nothing.
    """
    program, words = (command[0], command[1:]) if is_ssh(command) else ("ssh", _of_ssh(command[1:]))
    try:
        return await ask_ssh(words, program=program)
    except (NoSshToAsk, SshRejected, TimeoutError):
        return {}


def _of_ssh(words: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of autossh without its own: `-M PORT` and `-f`."""
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-M":
            next(rest, None)
        elif word != "-f" and not word.startswith("-M"):
            found.append(word)
    return tuple(found)


def link_options(options: Options) -> dict[str, str]:
    """Return the options that make an ssh with the effective `options` fit for a link.

    A RemoteCommand does not replace the link's shell, and a dead network is noticed. A link stays
    open for weeks, so it opens no forwards of ssh_config.
    """
    found: dict[str, str] = {}
    for option, (written, harmless) in _HARMFUL.items():
        if options.get(option, (harmless,))[0] != harmless:
            found[written] = harmless
    if any(each in options for each in _FORWARDS):
        found["ClearAllForwardings"] = "yes"
    if options.get("serveraliveinterval") == ("0",):
        found |= SERVER_ALIVE
    if options.get("connecttimeout") == ("none",):
        found |= CONNECT_TIMEOUT
    return found


def unlent_options(command: Sequence[str], options: Options) -> dict[str, str]:
    """Return the options that keep the operator's agent and display from the machine of a link.

    A command that goes on from its host, such as `ssh gateway ssh inner`, may need the agent there.

    Args:
        command: The link's command, an ssh or autossh.
        options: Its effective options.
    """
    if has_remote_command(command):
        return {}
    return {
        written: "no"
        for option, written in _LENT.items()
        if options.get(option, ("no",)) != ("no",)
    }


def option_words(options: dict[str, str]) -> tuple[str, ...]:
    """Return `options` as arguments of ssh."""
    return tuple(word for name, value in options.items() for word in ("-o", f"{name}={value}"))
