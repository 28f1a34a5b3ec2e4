"""Marks the tests of core that start no program; `make check` measures the coverage with them."""

from pathlib import Path

import pytest

_PROGRAMS = frozenset(
    f"tests.support.{name}"
    for name in (
        "acting", "desk_on_evals", "evals", "fake_eval", "fetching", "guiding", "launches", "sshd",
    )
)  # fmt: skip
"""Helpers that start evals, launches, servers or downloads."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests below this folder whose module imports no helper that starts programs."""
    here = Path(__file__).parent
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and item.path.is_relative_to(here)
            and not _starts_programs(item.module)
        ):
            item.add_marker("pure")


def _starts_programs(module: object) -> bool:
    return any(getattr(each, "__module__", None) in _PROGRAMS for each in vars(module).values())
