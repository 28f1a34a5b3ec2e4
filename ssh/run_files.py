"""The files that a launch copies to a machine for its run."""

from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

_FILES = ("tasks/smoke.py", "tasks/arithmetic.py", "gpu_holder.py")


def run_files() -> Mapping[str, bytes]:
    """Return the built-in tasks and the GPU holder, by file name."""
    shipped = resources.files("ssh").joinpath("shipped")
    return MappingProxyType(
        {path.rpartition("/")[2]: shipped.joinpath(path).read_bytes() for path in _FILES}
    )
