"""The files of ours that are shipped to where a run needs them."""

from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

_FILES = ("tasks/smoke.py", "tasks/arithmetic.py", "gpu_holder.py")


def built_in_tasks() -> Mapping[str, bytes]:
    """Return the files of the tasks that a spec may name and what holds GPUs, by their names."""
    shipped = resources.files("ssh").joinpath("shipped")
    return MappingProxyType(
        {path.rpartition("/")[2]: shipped.joinpath(path).read_bytes() for path in _FILES}
    )
