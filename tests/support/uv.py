"""A real uv for tests: one cache for all of them, and the packages from where pip has them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

from platformdirs import user_cache_path

from tests.support.inherited import proxies_for_packages


@cache
def uv_env() -> Mapping[str, str]:
    """Return the variables of a login whose uv finds packages here, and keeps them."""
    folder = user_cache_path("evalroom") / "tests" / "uv"
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "UV_CACHE_DIR": str(folder),
        "UV_LINK_MODE": "hardlink",
        **_index(),
        **proxies_for_packages(),
    }


def _index() -> Mapping[str, str]:
    """uv reads nothing of pip's config: a mirror that pip is given is told it."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    printed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    given = os.environ.get("UV_DEFAULT_INDEX")
    found = [line.partition("=")[2].strip("'") for line in printed.splitlines() if _names(line)]
    index = given or (found[-1] if found else None)
    return {} if index is None else {"UV_DEFAULT_INDEX": index}


def _names(line: str) -> bool:
    return line.partition("=")[0].endswith(".index-url")
