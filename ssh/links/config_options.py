"""The options of ssh_config by the form of their value, for evalroom's own reading of it."""

import re
import socket
from collections.abc import Callable

from ssh.links.config_lines import ConfigProblem

Read = Callable[[str], str]
"""Checks one word and returns it as `ssh -G` prints it; raises ValueError that names the fault."""

_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TIME = re.compile(r"(\d+)([smhdw]?)", re.IGNORECASE)
_MAX_PORT = 65_535

IDENTITY_FILES = (
    "~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519",
    "~/.ssh/id_ed25519_sk", "~/.ssh/id_xmss", "~/.ssh/id_dsa",
)  # fmt: skip
USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")

ALIASES = {
    "challengeresponseauthentication": "kbdinteractiveauthentication",
    "dsaauthentication": "pubkeyauthentication",
    "globalknownhostsfile2": "globalknownhostsfile",
    "hostbasedkeytypes": "hostbasedacceptedalgorithms",
    "identityfile2": "identityfile",
    "keepalive": "tcpkeepalive",
    "pubkeyacceptedkeytypes": "pubkeyacceptedalgorithms",
    "skeyauthentication": "kbdinteractiveauthentication",
    "smartcarddevice": "pkcs11provider",
    "tisauthentication": "kbdinteractiveauthentication",
    "userknownhostsfile2": "userknownhostsfile",
}
"""Older names of options."""

TAILS = frozenset({"proxycommand", "remotecommand", "localcommand", "knownhostscommand"})
"""Options whose value is the rest of the line as written, a `#` too."""
APPENDED = frozenset(
    {"identityfile", "certificatefile", "localforward", "remoteforward", "dynamicforward"}
)
"""Options of which every occurrence counts."""
LISTS = frozenset(
    {
        "canonicaldomains",
        "canonicalizepermittedcnames",
        "globalknownhostsfile",
        "ipqos",
        "logverbose",
        "permitremoteopen",
        "rekeylimit",
        "setenv",
        "userknownhostsfile",
    }
)
"""Options that take several words; the first occurrence counts."""
IGNORED = frozenset(
    {
        "afstokenpassing",
        "cipher",
        "compressionlevel",
        "fallbacktorsh",
        "kerberosauthentication",
        "kerberostgtpassing",
        "protocol",
        "rhostsauthentication",
        "rhostsrsaauthentication",
        "rsaauthentication",
        "useblacklistedkeys",
        "useprivilegedport",
        "useroaming",
        "usersh",
    }
)
"""Options that ssh no longer has, and passes over."""


def read_port(word: str) -> str:
    """Return a port's number; `word` may be the name of a service."""
    if word.isdecimal() and word.isascii():
        number = int(word)
    else:
        try:
            number = socket.getservbyname(word, "tcp")
        except (OSError, ValueError):
            number = 0
    if not 0 < number <= _MAX_PORT:
        raise ValueError(f"Bad port '{word}'.")
    return str(number)


def read_time(word: str) -> str:
    """Return a time's seconds: `90`, `1m30s`, `2h`; `none` stays."""
    if word == "none":
        return word
    if not word or _TIME.sub("", word):
        raise ValueError("invalid time value.")
    return str(sum(int(n) * _UNIT_S[unit.lower()] for n, unit in _TIME.findall(word)))


def _seconds(word: str) -> str:
    value = read_time(word)
    return "0" if value == "none" else value


def _flag(word: str) -> str:
    value = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}.get(word.lower())
    if value is None:
        raise ValueError(f'unsupported option "{word}".')
    return value


def _one_of(**values: str) -> Read:
    def read(word: str) -> str:
        value = values.get(word.lower().replace("-", "_"))
        if value is None:
            raise ValueError(f'unsupported option "{word}".')
        return value

    return read


def _whole(word: str) -> str:
    try:
        return str(int(word, 0))
    except ValueError:
        raise ValueError(f"integer value expected, not {word}") from None


def _text(word: str) -> str:
    if not word:
        raise ValueError("missing argument.")
    return word


_TRUTH = {"yes": "true", "true": "true", "no": "false", "false": "false"}
READERS: dict[str, Read] = {
    "addressfamily": _one_of(any="any", inet="inet", inet6="inet6"),
    "canonicalizehostname": _one_of(**_TRUTH, always="always"),
    "connecttimeout": read_time,
    "controlmaster": _one_of(**_TRUTH, auto="auto", ask="ask", autoask="autoask"),
    "port": read_port,
    "pubkeyauthentication": _one_of(**_TRUTH, unbound="unbound", host_bound="host-bound"),
    "serveraliveinterval": _seconds,
    "stricthostkeychecking": _one_of(
        **_TRUTH, off="false", ask="ask", accept_new="accept-new"
    ),
    **dict.fromkeys(
        (
            "batchmode", "canonicalizefallbacklocal", "checkhostip", "clearallforwardings",
            "compression", "enableescapecommandline", "enablesshkeysign", "exitonforwardfailure",
            "forkafterauthentication", "forwardx11", "forwardx11trusted", "gatewayports",
            "gssapiauthentication", "gssapidelegatecredentials", "gssapikeyexchange",
            "gssapirenewalforcesrekey", "gssapitrustdns", "hashknownhosts",
            "hostbasedauthentication", "identitiesonly", "kbdinteractiveauthentication",
            "nohostauthenticationforlocalhost", "passwordauthentication", "permitlocalcommand",
            "proxyusefdpass", "stdinnull", "streamlocalbindunlink", "tcpkeepalive", "visualhostkey",
        ),
        _flag,
    ),
    **dict.fromkeys(
        (
            "canonicalizemaxdots", "connectionattempts", "numberofpasswordprompts",
            "requiredrsasize", "serveralivecountmax",
        ),
        _whole,
    ),
    **dict.fromkeys(
        (
            "addkeystoagent", "bindaddress", "bindinterface", "casignaturealgorithms", "ciphers",
            "controlpath", "controlpersist", "escapechar", "fingerprinthash", "forwardagent",
            "forwardx11timeout", "gssapiclientidentity", "gssapikexalgorithms",
            "gssapiserveridentity", "hostbasedacceptedalgorithms", "hostkeyalgorithms",
            "hostkeyalias", "hostname", "identityagent", "kbdinteractivedevices", "kexalgorithms",
            "loglevel", "macs", "pkcs11provider", "preferredauthentications", "proxyjump",
            "pubkeyacceptedalgorithms", "requesttty", "revokedhostkeys", "securitykeyprovider",
            "sessiontype", "streamlocalbindmask", "syslogfacility", "tunnel", "tunneldevice",
            "updatehostkeys", "user", "verifyhostkeydns", "xauthlocation",
        ),
        _text,
    ),
}  # fmt: skip
"""Options that take one word; the first occurrence counts."""

DEFAULTS: dict[str, tuple[str, ...]] = {
    "addressfamily": ("any",),
    "canonicalizehostname": ("false",),
    "canonicalizemaxdots": ("1",),
    "canonicalizefallbacklocal": ("yes",),
    "compression": ("no",),
    "connecttimeout": ("none",),
    "controlmaster": ("false",),
    "globalknownhostsfile": GLOBAL_KNOWN_HOSTS,
    "identitiesonly": ("no",),
    "identityfile": IDENTITY_FILES,
    "kbdinteractiveauthentication": ("yes",),
    "passwordauthentication": ("yes",),
    "port": ("22",),
    "pubkeyauthentication": ("true",),
    "serveralivecountmax": ("3",),
    "serveraliveinterval": ("0",),
    "stricthostkeychecking": ("ask",),
    "tcpkeepalive": ("yes",),
    "userknownhostsfile": USER_KNOWN_HOSTS,
}
"""The values that ssh uses where no file sets one."""


def is_known(option: str) -> bool:
    """Return whether `option` is one of ssh's."""
    return (
        option in READERS
        or option in LISTS
        or option in APPENDED
        or option in TAILS
        or option in {"sendenv", *IGNORED}
    )


def read_value(option: str, words: tuple[str, ...], place: str) -> tuple[str, ...]:
    """Return the value of an option that is not one of `TAILS`, as `ssh -G` prints it.

    Raises:
        ConfigProblem: The words do not fit the option.
    """
    if option not in READERS:
        if not words or not all(words):
            raise ConfigProblem(f"keyword {option} empty argument", place)
        if option in {"identityfile", "certificatefile"} and len(words) > 1:
            raise ConfigProblem(f"keyword {option} extra arguments at end of line", place)
        return words
    if not words:
        raise ConfigProblem(f'no argument after keyword "{option}"', place)
    try:
        value = READERS[option](words[0])
    except ValueError as error:
        raise ConfigProblem(str(error), place) from None
    if len(words) > 1 and option != "proxyjump":  # ssh lets a comment follow ProxyJump only
        raise ConfigProblem(f"keyword {option} extra arguments at end of line", place)
    return (value,)
