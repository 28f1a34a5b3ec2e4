"""Reports of tests may hold any text, also what can't be sent as UTF-8.

A worker of xdist sends each report as UTF-8. A lone surrogate in it (a message about hostile text
holds one) would end the whole run, and the names of the tests that failed would be lost.
"""

from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, object, object]:
    r"""Write what can't be sent as `\ud800`."""
    sent = yield
    return _sendable(sent)


def _sendable(value: Any) -> Any:
    whole: Any = value
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_sendable(key): _sendable(each) for key, each in whole.items()}
    if isinstance(value, list | tuple):
        return type(whole)(_sendable(each) for each in whole)
    return value
