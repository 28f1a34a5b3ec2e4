"""In CI no test is skipped: what is missing there makes the test fail, by its name and its reason.

Elsewhere a skipped test is listed at the end of the run (`--no-fold-skipped` in pyproject.toml).
"""

import os
from collections.abc import Generator

import pytest


def _is_ci() -> bool:
    return os.environ.get("CI", "").lower() not in {"", "0", "false", "no"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI; an expected failure (xfail) is none."""
    report = yield
    if _is_ci() and report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a module that is skipped as a whole into a failure in CI."""
    report = yield
    if _is_ci() and report.skipped:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} was skipped, and nothing may be skipped in CI: {why}"
