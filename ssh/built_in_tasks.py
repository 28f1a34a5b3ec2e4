"""The files of the built-in tasks, which are shipped to where a run needs them."""

from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType


def built_in_tasks() -> Mapping[str, bytes]:
    """Return the files of the tasks that a spec may name, by their names."""
    folder = resources.files("ssh").joinpath("shipped", "tasks")
    return MappingProxyType(
        {name: folder.joinpath(name).read_bytes() for name in ("smoke.py", "arithmetic.py")}
    )
