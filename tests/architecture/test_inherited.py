"""A test inherits nothing of its developer's environment."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.inherited import FIXED, KEPT, PACKAGES, proxies_for_packages
from tests.support.tree import ROOT

POISON = {
    "XDG_CONFIG_HOME": "/poison", "XDG_DATA_HOME": "/poison", "XDG_STATE_HOME": "/poison",
    "XDG_CACHE_HOME": "/poison", "XDG_RUNTIME_DIR": "/poison", "INSPECT_LOG_DIR": "/poison",
    "INSPECT_EVAL_MODEL": "x", "EVALROOM_RUN": "x", "EVALROOM_CONFIG": "/poison",
    "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "x", "ANTHROPIC_API_KEY": "x", "GOOGLE_API_KEY": "x",
    "AZUREAI_API_KEY": "x", "HF_TOKEN": "x", "HF_HOME": "/poison", "AWS_PROFILE": "x",
    "AWS_ACCESS_KEY_ID": "x", "SSH_AUTH_SOCK": "/poison", "SSH_ASKPASS": "x",
    "SSH_CONNECTION": "x", "GIT_DIR": "/poison", "GIT_SSH_COMMAND": "x", "GIT_AUTHOR_NAME": "x",
    "GIT_CONFIG_GLOBAL": "/poison", "TMUX": "/poison", "TMUX_TMPDIR": "/poison", "EDITOR": "x",
    "VISUAL": "x", "PAGER": "x", "NO_COLOR": "1", "FORCE_COLOR": "1", "COLORTERM": "x",
    "TERM": "dumb", "LANG": "tr_TR.UTF-8", "LC_ALL": "C", "LC_CTYPE": "C", "LANGUAGE": "tr",
    "TZ": "Asia/Kolkata", "CUDA_VISIBLE_DEVICES": "7", "VIRTUAL_ENV": "/poison", "DISPLAY": ":7",
    "DBUS_SESSION_BUS_ADDRESS": "x", "UV_CACHE_DIR": "/poison", "UV_OFFLINE": "1",
    "UV_PYTHON": "x", "PIP_TARGET": "/poison", "PYTHONWARNINGS": "ignore",
    "HTTP_PROXY": "http://poison.invalid", "https_proxy": "http://poison.invalid",
    "PIP_DEFAULT_TIMEOUT": "77",
}  # fmt: skip
"""Variables that a developer may have set."""
OURS = "test_a_test_sees_only_what_it_needs"


def test_a_test_sees_only_what_it_needs() -> None:
    allowed = KEPT | PACKAGES | FIXED.keys()
    more = {
        name for name in os.environ if not name.startswith(("PYTEST_", "UV_INDEX_", "PACKAGES_"))
    }
    assert more <= allowed
    assert {name: os.environ[name] for name in FIXED} == dict(FIXED)
    assert time.strftime("%Z", time.localtime(0)) == "UTC"


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_poisoned_environment_reaches_no_test(workers: str) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*words, f"{Path(__file__)}::{OURS}", f"{Path(__file__)}::{PROXY_TEST}"],
        cwd=ROOT, env={**os.environ, **POISON}, capture_output=True, text=True, check=False,
        timeout=50,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


PROXY_TEST = "test_a_proxy_is_for_packages_alone"


def test_a_proxy_is_for_packages_alone() -> None:
    names = {name.upper() for name in os.environ}
    assert not names & {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
    assert set(proxies_for_packages()) <= {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
    if os.environ.get("PIP_DEFAULT_TIMEOUT") == "77":  # within the poisoned run
        assert proxies_for_packages()["HTTPS_PROXY"] == "http://poison.invalid"
