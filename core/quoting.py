"""The one quoting function: words for a POSIX shell.

Only `/bin/sh` ever reads these words (`ssh.handshake`, the script of a run): no login shell
does, so the rules of csh and fish don't matter.
"""

import re

from core.errors import UsageWrong

_BARE = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*")


def quoted(word: str) -> str:
    """Return `word` so that a POSIX shell reads exactly that one word.

    Raises:
        UsageWrong: It holds a NUL, which no argument can, or a lone surrogate.
    """
    if "\0" in word:
        raise UsageWrong("a word for a command holds a NUL character")
    try:
        word.encode()
    except UnicodeEncodeError as error:
        raise UsageWrong("a word of a command is not UTF-8 text") from error
    return "'" + word.replace("'", "'\\''") + "'"


def plain_word(word: str) -> str:
    """Return `word` as `quoted` does, bare where a shell reads nothing into it: for people.

    Raises:
        UsageWrong: As `quoted`.
    """
    return word if _BARE.fullmatch(word) else quoted(word)


def command_line(words: tuple[str, ...]) -> str:
    """Return `words` as one command line for a POSIX shell.

    Raises:
        UsageWrong: As `quoted`.
    """
    return " ".join(quoted(word) for word in words)


def path_word(path: str) -> str:
    """Return the word for a path over there: `~/` is the home of who runs the shell.

    Raises:
        UsageWrong: As `quoted`.
    """
    if path == "~" or path.startswith("~/"):
        return '"$HOME"' + quoted(path[1:])
    return quoted(path)


def ssh_config_word(path: str) -> str:
    """Return a path as one word of a value that ssh may split, such as UserKnownHostsFile."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def program_word(path: str) -> str:
    """Return the word for a program as a config names it: `~/` is the home over there.

    Raises:
        UsageWrong: As `quoted`; it is empty or starts with a dash.
    """
    if not path or path.startswith("-"):
        raise UsageWrong(f"{path!r} is not a program")
    return path_word(path)
