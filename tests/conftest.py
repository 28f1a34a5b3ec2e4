"""Fixtures that several folders of tests share: real evals that are only read."""

import signal
import threading

import pytest
from hypothesis import HealthCheck, settings

from tests.support.inherited import keep_what_tests_need

keep_what_tests_need()

if threading.current_thread() is threading.main_thread():
    # A run of tests that was started in the background ignores SIGINT, and so would all that
    # they start: an interrupt is what several of them are about.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = [
    "tests.support.evals",
    "tests.support.shared_evals",
    "tests.support.ctl",
    "tests.support.docker_engine",
    "tests.support.idle",
    "tests.support.report_texts",
    "tests.support.skips",
]

settings.register_profile(
    "steady",
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)  # a slow machine is not a fault, and events are large
settings.load_profile("steady")

_LONGEST_ID = 60
_QUICK = frozenset({"architecture", "storage"})
"""Folders whose tests start no eval and no server, and last a moment."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put quick tests last: no worker begins a long one when the others have nothing left."""
    items.sort(key=lambda item: item.path.parent.name in _QUICK)


def pytest_make_parametrize_id(config: object, val: object, argname: str) -> str | None:
    """Keep the names of tests short: values of a megabyte are tried too."""
    del config, argname
    if isinstance(val, str | bytes) and len(val) > _LONGEST_ID:
        return f"{val[:20]!a}, {len(val)} long"
    return None
