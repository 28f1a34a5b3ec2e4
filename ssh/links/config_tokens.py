"""Expands what OpenSSH expands in the values of ssh_config: `%h`, `${NAME}` and `~`."""

import os
import pwd
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha1

from ssh.links.config_lines import ConfigProblem

_TOKEN_OR_VARIABLE = re.compile(r"%(.?)|\$\{([^}]*)\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LocalAccount:
    """The account that runs evalroom, as ssh sees it: by the user database, not by HOME."""

    user: str
    home: str
    uid: int

    @classmethod
    def current(cls) -> "LocalAccount":
        """Return the account of this process."""
        uid = os.getuid()
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            home = os.path.expanduser("~")  # noqa: PTH111 - without an entry HOME is all there is
            return cls(user=str(uid), home=home, uid=uid)
        return cls(user=entry.pw_name, home=entry.pw_dir, uid=uid)


def local_tokens(
    account: LocalAccount, *, name: str, host: str, port: int, user: str, alias: str | None
) -> dict[str, str]:
    """Return the value of each `%` token for a host.

    Args:
        account: The account that runs evalroom.
        name: The name as given to ssh.
        host: The host name to connect to.
        port: The port to connect to.
        user: The user to log in as.
        alias: HostKeyAlias; None: not set.
    """
    here = socket.gethostname()
    whole = f"{here}{host}{port}{user}".encode("utf-8", "surrogateescape")
    digest = sha1(whole, usedforsecurity=False).hexdigest()
    return {
        "%": "%", "C": digest, "L": here.split(".")[0], "d": account.home, "h": host,
        "i": str(account.uid), "k": alias or host, "l": here, "n": name, "p": str(port),
        "r": user, "u": account.user,
    }  # fmt: skip


def expand_tokens(
    value: str, tokens: Mapping[str, str], *, environment: Mapping[str, str] | None = None
) -> str:
    """Return `value` with its `%` tokens expanded, and `${NAME}` if `environment` is given.

    Raises:
        ConfigProblem: A token is unknown, or a variable is not set.
    """

    def replacement(found: re.Match[str]) -> str:
        token, variable = found.group(1), found.group(2)
        if variable is None:
            if token not in tokens:
                raise ConfigProblem(f"unknown token %{token} in {value}")
            return tokens[token]
        if environment is None:
            return found.group()
        if variable not in environment:
            raise ConfigProblem(f"the variable {variable} is not set, but {value} needs it")
        return environment[variable]

    return _TOKEN_OR_VARIABLE.sub(replacement, value)


def expand_home(path: str, account: LocalAccount) -> str:
    """Return `path` with `~` or `~user` at its start replaced by that home folder.

    Raises:
        ConfigProblem: No such user.
    """
    if not path.startswith("~"):
        return path
    user, slash, rest = path[1:].partition("/")
    if not user:
        return f"{account.home}{slash}{rest}"
    try:
        return f"{pwd.getpwnam(user).pw_dir}{slash}{rest}"
    except (KeyError, ValueError):  # nobody of this name, or no name at all
        raise ConfigProblem(f"no such user: {user}") from None
