"""Settings of git: no hooks, no prompts, no configuration but evalroom's."""

import os
import re

URL = re.compile(r"(https?|ssh|git|file)://[!-~]+\Z")
CERTIFICATES = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH")
DROPPED = ("DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS", "BASH_ENV", "ENV")
SSH_COMMAND = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15"


def git_options(url, has_token):
    """Return git's `-c` options; the token is only in git's environment."""
    settings = [
        "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "gc.auto=0",
        "maintenance.auto=false", "credential.helper=", "http.lowSpeedLimit=1",
        "http.lowSpeedTime=60", "advice.detachedHead=false", "protocol.version=2",
        "init.defaultBranch=main", "fetch.recurseSubmodules=false",
    ]  # fmt: skip
    if has_token:
        settings.append("http.followRedirects=false")  # a redirect would take it to another host
        scheme, _, rest = url.partition("://")
        host, has_user = rest.partition("/")[0], "@" in rest.partition("/")[0]
        name = "" if has_user else "printf '%s\\n' username=x-access-token;"
        lines = "%s printf '%%s\\n' \"password=$EVALROOM_TOKEN\"" % name
        helper = '!f() { if test "$1" = get; then %s; fi; }; f' % lines
        place = "credential.%s://%s" % (scheme, host.rpartition("@")[2])
        settings.append("%s.helper=%s" % (place, helper))
    return [word for each in settings for word in ("-c", each)]


def git_env(url, given, token, ceiling):
    """Return git's environment; from `given` it takes only proxies and certificates."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name in CERTIFICATES or not (name.startswith("GIT_") or name in DROPPED)
    }
    for name, value in given.items():
        if name in CERTIFICATES or name.lower().endswith("_proxy"):
            env[name] = value
    env.update(
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL="/dev/null",
        GIT_ATTR_NOSYSTEM="1",
        GIT_TERMINAL_PROMPT="0",
        GIT_ALLOW_PROTOCOL=allowed_protocols(url),
        GIT_SSH_COMMAND=SSH_COMMAND,
        GIT_LFS_SKIP_SMUDGE="1",
        GIT_CEILING_DIRECTORIES=ceiling,
        SSH_ASKPASS_REQUIRE="never",
        LC_ALL="C",
    )
    if token is not None:
        env["EVALROOM_TOKEN"] = token
    return env


def allowed_protocols(url):
    """Return the repository's own protocol, and two safe ones for its submodules."""
    found = URL.match(url)
    own = found.group(1) if found else "file" if url.startswith("/") else "ssh"
    return ":".join(sorted({"https", "ssh", own}))
