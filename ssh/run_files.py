"""The files that a launch copies to a machine for its run."""

from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from ssh.shipped_program import shipped_program

_TASKS = ("smoke.py", "arithmetic.py")


def run_files() -> Mapping[str, bytes]:
    """Return the built-in tasks and the GPU holder, by file name."""
    tasks = resources.files("ssh").joinpath("shipped", "tasks")
    files = {name: tasks.joinpath(name).read_bytes() for name in _TASKS}
    return MappingProxyType({**files, "gpu_holder.py": shipped_program("gpu_holder")})
