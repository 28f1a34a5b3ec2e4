"""Reads ssh_config by itself, for computers without an ssh that could be asked (`ssh -G`).

It reads as OpenSSH 9.2 does; a corpus of configs holds both readings against each other. A word
that it can't follow is an error with the file and the line.
"""

import glob
import os
import re
import socket
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from ssh.links import config_options as known
from ssh.links.config_lines import (
    ConfigLine,
    ConfigProblem,
    matches_list,
    matches_pattern,
    next_word,
    read_config_lines,
)
from ssh.links.config_tokens import LocalAccount, expand_home, expand_tokens, local_tokens

SYSTEM_CONFIG = "/etc/ssh/ssh_config"
EXEC_TIMEOUT_S = 5.0
"""How long the program of a `Match exec` may run, seconds."""
_MAX_INCLUDES_DEEP = 16
_OTHERS_MAY_WRITE = 0o022
_UNSAFE = re.compile(r"""['`"$\\;&<>|(){},\s\x00-\x1f\x7f]""")
_UNSAFE_USER = re.compile(r"""['`";&<>|(){}\x00-\x1f\x7f]|\s-|\\$""")
"""What a ProxyCommand or a Match exec would hand to a shell; ssh refuses it too."""

Options = dict[str, tuple[str, ...]]
"""Values by the option's name in lower case, as `ssh -G` prints them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The destination that ssh is asked for.

    Attributes:
        name: The host's name as given to ssh.
        user: The user to log in as; None: ssh_config decides.
        port: The port; None: ssh_config decides.
        file: The file to read in place of the usual ones; `none`: read none. None: the usual ones.
        jump: ProxyJump; None: ssh_config decides.
    """

    name: str
    user: str | None = None
    port: int | None = None
    file: str | None = None
    jump: str | None = None

    def without_syntax(self) -> "Destination":
        """Return it with `user@host` and `ssh://user@host:port` taken apart, as ssh does."""
        name, port = self.name, self.port
        is_uri = name.startswith("ssh://")
        name = name.removeprefix("ssh://").rstrip("/") if is_uri else name
        user, at, host = name.rpartition("@")
        if is_uri:
            bare, colon, number = host.rpartition(":")
            if colon and number.isdecimal():
                host, port = bare, port or int(number)
            host = host.removeprefix("[").removesuffix("]")
        return replace(self, name=host, user=self.user or (user if at else None), port=port)


@dataclass(frozen=True, slots=True)
class ParsedConfig:
    """The options of one host.

    Attributes:
        options: Their values.
        places: The file and the line of each option that a file sets.
    """

    options: Options
    places: dict[str, str]


def parse_config(destination: Destination, account: LocalAccount) -> ParsedConfig:
    """Return the options that the config files give `destination`.

    Blocks: it reads files, and may run the programs of `Match exec` and resolve host names.

    Raises:
        ConfigProblem: A file can't be read, or a line can't be read or followed.
    """
    asked = destination.without_syntax()
    if asked.name.startswith("-") or _UNSAFE.search(asked.name):
        raise ConfigProblem("hostname contains invalid characters")
    if asked.user and (asked.user.startswith("-") or _UNSAFE_USER.search(asked.user)):
        raise ConfigProblem("remote username contains invalid characters")
    first = _Reading(asked=asked, account=account, host=asked.name)
    first.read_files()
    host = first.canonical_host()
    last = first
    if first.wants_final or first.value("canonicalizehostname", "false") != "false":
        last = _Reading(
            asked=asked, account=account, host=host, is_final=True,
            options={**first.options, "hostname": (host,)}, places=first.places,
            ignored=first.ignored,
        )  # fmt: skip
        last.read_files()
    options = {**known.DEFAULTS, **last.options}
    options["hostname"] = (host,)
    options.setdefault("user", (account.user,))
    return ParsedConfig(options, last.places)


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One pass over the files."""

    asked: Destination
    account: LocalAccount
    host: str
    is_final: bool = False
    options: Options = field(default_factory=Options)
    places: dict[str, str] = field(default_factory=dict[str, str])
    ignored: str = ""
    wants_final: bool = False

    def __post_init__(self) -> None:
        given = {"user": self.asked.user, "port": self.asked.port, "proxyjump": self.asked.jump}
        for option, value in given.items():
            if value is not None:
                self.options.setdefault(option, (str(value),))

    def value(self, option: str, default: str) -> str:
        """Return the first word of an option's value."""
        return self.options.get(option, (default,))[0]

    def read_files(self) -> None:
        """Read the file that was asked for, or the user's and then the system's."""
        if self.asked.file == "none":
            return
        if self.asked.file is not None:
            self._read(Path(self.asked.file), of_user=True, must_exist=True)
            return
        user = Path(self.account.home, ".ssh", "config")
        self._read(user, of_user=True, checks_owner=True)
        self._read(Path(SYSTEM_CONFIG), of_user=False)

    def canonical_host(self) -> str:
        """Return the host name to connect to, looked up in the CanonicalDomains if asked for."""
        raw = self.value("hostname", self.host)
        host = expand_tokens(raw, {"h": self.host, "%": "%"}).lower()
        wants = self.value("canonicalizehostname", "false")
        domains = self.options.get("canonicaldomains", ())
        proxied = self._is_proxied()
        if wants == "false" or (proxied and wants != "always"):
            return host
        address = _as_address(host)
        if address is not None or not domains:
            return address or host
        if self.options.get("canonicalizepermittedcnames", ("none",)) != ("none",):
            place = self.places.get("canonicalizepermittedcnames", "")
            raise ConfigProblem("CanonicalizePermittedCNAMEs needs an installed ssh", place)
        if host.count(".") > int(self.value("canonicalizemaxdots", "1")):
            return host
        for domain in domains:
            if domain.lower() != "none" and _resolves(full := f"{host}.{domain.lower()}"):
                return full
        if self.value("canonicalizefallbacklocal", "yes") == "no":
            raise ConfigProblem(f"{host} is in none of the CanonicalDomains")
        return host

    def _is_proxied(self) -> bool:
        return any(self.value(option, "none") != "none" for option in ("proxycommand", "proxyjump"))

    # -- files

    def _read(
        self,
        path: Path,
        *,
        of_user: bool,
        must_exist: bool = False,
        checks_owner: bool = False,
        active: bool = True,
        depth: int = 0,
    ) -> None:
        try:
            if checks_owner:
                self._check_owner(path)
            lines = list(read_config_lines(path))
        except FileNotFoundError:
            if must_exist:
                raise ConfigProblem(f"can't open {path}: no such file") from None
            return
        except OSError as error:
            raise ConfigProblem(f"can't open {path}: {error.strerror}") from error
        applies = active
        for line in lines:
            match line.keyword:
                case "host":
                    applies = self._host_matches(line) and active
                case "match":
                    applies = self._match_matches(line, active=active) and active
                case "include":
                    self._include(line, of_user=of_user, active=applies, depth=depth)
                case _:
                    self._take(line, applies=applies)

    def _check_owner(self, path: Path) -> None:
        found = path.stat()
        if found.st_uid not in {0, self.account.uid} or found.st_mode & _OTHERS_MAY_WRITE:
            raise ConfigProblem(f"Bad owner or permissions on {path}")

    def _include(self, line: ConfigLine, *, of_user: bool, active: bool, depth: int) -> None:
        if depth >= _MAX_INCLUDES_DEEP:
            raise ConfigProblem("Too many recursive configuration includes", line.place)
        base = f"{self.account.home}/.ssh" if of_user else "/etc/ssh"
        for word in line.words():
            if word.startswith("~") and not of_user:
                raise ConfigProblem(f"bad include path {word}.", line.place)
            pattern = os.path.join(base, expand_home(word, self.account))  # noqa: PTH118 - a glob
            for path in sorted(glob.glob(pattern)):  # noqa: PTH207 - the pattern is absolute
                self._read(
                    Path(path), of_user=of_user, checks_owner=True, active=active, depth=depth + 1
                )

    # -- blocks

    def _host_matches(self, line: ConfigLine) -> bool:
        applies = False
        words = line.words()
        if not words or not all(words):
            raise ConfigProblem("keyword host empty argument", line.place)
        for word in words:
            if matches_pattern(self.host, word.removeprefix("!")):
                if word.startswith("!"):
                    return False
                applies = True
        return applies

    def _match_matches(self, line: ConfigLine, *, active: bool) -> bool:
        result, rest, seen = True, line.rest, 0
        while True:
            word, rest = next_word(rest)
            if not word or word.startswith("#"):
                break
            negated, criterion = word.startswith("!"), word.removeprefix("!").lower()
            if criterion == "all":
                following, _ = next_word(rest)
                if seen > 1 or (following and not following.startswith("#")):
                    raise ConfigProblem("'all' cannot be combined with other Match", line.place)
                return result and not negated
            seen += 1
            if criterion in {"canonical", "final"}:
                self.wants_final = self.wants_final or criterion == "final"
                result = result and self.is_final is not negated
                continue
            argument, rest = next_word(rest)
            if not argument or argument.startswith("#"):
                raise ConfigProblem(f"missing argument for Match '{criterion}'", line.place)
            if criterion == "exec":
                holds = result and active and self._exec_succeeds(argument, line)
                result = result and holds is not negated
            else:
                result = self._criterion_holds(criterion, argument, line) is not negated and result
        if not seen:
            raise ConfigProblem("One or more attributes required for Match", line.place)
        return result

    def _criterion_holds(self, criterion: str, argument: str, line: ConfigLine) -> bool:
        match criterion:
            case "host":
                return matches_list(self._present_host().lower(), argument.lower())
            case "originalhost":
                return matches_list(self.asked.name.lower(), argument.lower())
            case "user":
                return matches_list(self.value("user", self.account.user), argument)
            case "localuser":
                return matches_list(self.account.user, argument)
            case _:
                raise ConfigProblem(f'"Match {criterion}" needs an installed ssh', line.place)

    def _present_host(self) -> str:
        raw = self.value("hostname", self.host)
        return expand_tokens(raw, {"h": self.host, "%": "%"})

    def _exec_succeeds(self, command: str, line: ConfigLine) -> bool:
        tokens = local_tokens(
            self.account, name=self.asked.name, host=self._present_host(),
            port=int(self.value("port", "22")), user=self.value("user", self.account.user),
            alias=None,
        )  # fmt: skip
        shell = os.environ.get("SHELL") or "/bin/sh"
        try:
            done = subprocess.run(  # noqa: S603 - ssh runs the same command of the user's config
                [shell, "-c", expand_tokens(command, tokens)], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                timeout=EXEC_TIMEOUT_S, start_new_session=True,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigProblem(
                f"can't run the program of Match exec: {error}", line.place
            ) from error
        return done.returncode == 0

    # -- options

    def _take(self, line: ConfigLine, *, applies: bool) -> None:
        option = known.ALIASES.get(line.keyword, line.keyword)
        if option == "ignoreunknown":
            self.ignored = self.ignored or ",".join(line.words())
            return
        if not known.is_known(option):
            if matches_list(option, self.ignored.lower()):
                return
            raise ConfigProblem(f"Bad configuration option: {line.keyword}", line.place)
        if option in known.IGNORED:
            return
        if option in known.TAILS:
            value: tuple[str, ...] = (line.rest,)
        else:
            value = known.read_value(option, line.words(), line.place)
        if applies:
            self._set(option, value, line)

    def _set(self, option: str, value: tuple[str, ...], line: ConfigLine) -> None:
        if option in {"proxycommand", "proxyjump"}:
            # The first of the two counts; `ProxyJump none` lets a ProxyCommand follow.
            jump = self.options.get("proxyjump")
            is_jump_set = jump is not None and (option == "proxyjump" or jump != ("none",))
            if is_jump_set or "proxycommand" in self.options:
                return
        self.places.setdefault(option, line.place)
        if option in known.APPENDED:
            held = self.options.get(option, ())
            self.options[option] = held + tuple(each for each in value if each not in held)
        elif option == "sendenv":
            self._send(value)
        else:
            self.options.setdefault(option, value)

    def _send(self, words: tuple[str, ...]) -> None:
        held = list(self.options.get("sendenv", ()))
        for word in words:
            if word.startswith("-"):
                held = [each for each in held if not matches_pattern(each, word[1:])]
            elif word not in held:
                held.append(word)
        self.options["sendenv"] = tuple(held)


def _as_address(host: str) -> str | None:
    """Return a numeric address in its usual form; None: `host` is a name."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except OSError:
        return None
    return str(found[0][4][0])


def _resolves(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True
