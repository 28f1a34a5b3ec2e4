"""The variables that a test run takes over from whoever starts it: an allow-list.

Settings of the developer (keys of providers, XDG folders, an ssh-agent, an editor, a proxy, a
language ...) must not decide whether a test passes. `keep_what_tests_need` removes them before any
module of the product is imported; workers of xdist and all that tests start inherit the rest.
"""

import os
import time
from collections.abc import Mapping

KEPT = frozenset({
    "CI",  # a missing program fails there in place of a skip
    "HOME", "LOGNAME", "SHELL", "TMPDIR", "USER",
    "LD_LIBRARY_PATH", "PATH", "PYENV_ROOT",  # programs start by these
    "SOAK_MINUTES",  # how long the weather lasts: `make soak`
})  # fmt: skip
PACKAGES = frozenset({
    "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
    "PIP_CERT", "PIP_CONFIG_FILE", "PIP_DEFAULT_TIMEOUT", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
    "PIP_INDEX_URL", "PIP_RETRIES", "PIP_TIMEOUT", "PIP_TRUSTED_HOST",
    "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_HTTP_TIMEOUT", "UV_INDEX",
    "UV_INDEX_URL", "UV_INSECURE_HOST", "UV_NATIVE_TLS",
})  # fmt: skip
"""Where packages come from, for the tests that install some."""
PREFIXES = ("PYTEST_", "UV_INDEX_")
"""What pytest tells its workers; the passwords of named indexes."""
FIXED: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "xterm-256color",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",  # nobody's own keyring is asked
}
PROXIES = frozenset({"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"})
_ASIDE = "PACKAGES_"
"""Proxies are set aside under this prefix: they are for packages, not for the tests' servers."""


def keep_what_tests_need() -> None:
    """Remove every other variable from this process, and set those that are fixed."""
    kept = {name: value for name, value in os.environ.items() if _is_kept(name)}
    proxies = {
        f"{_ASIDE}{name.upper()}": value
        for name, value in os.environ.items()
        if name.upper() in PROXIES
    }
    os.environ.clear()
    os.environ.update({**kept, **proxies, **FIXED})
    time.tzset()


def proxies_for_packages() -> Mapping[str, str]:
    """The developer's proxies, for a program that installs packages."""
    return {
        name: os.environ[f"{_ASIDE}{name}"] for name in PROXIES if f"{_ASIDE}{name}" in os.environ
    }


def _is_kept(name: str) -> bool:
    aside = name.removeprefix(_ASIDE)
    return (
        name in KEPT
        or name in PACKAGES
        or name.startswith(PREFIXES)
        or (aside != name and aside in PROXIES)
    )
