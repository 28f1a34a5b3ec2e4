"""The interpreters of this computer."""

import shutil
import sys
from functools import cache
from pathlib import Path

NAMES = [f"python3.{minor}" for minor in range(8, 14)]


@cache
def pythons() -> dict[str, str]:
    """Return the paths of interpreters by their names, the oldest first.

    A version manager's shim would pick another one elsewhere, so its folder is looked into. Call
    it before a test moves HOME.
    """
    found: dict[str, str] = {}
    for name in NAMES:
        path = shutil.which(name)
        if path is not None and "shims" not in path:
            found[name] = path
    for kept in sorted(Path(sys.base_prefix).parent.glob("3.*/bin/python3")):
        minor = ".".join(kept.parent.parent.name.split(".")[:2])
        found.setdefault(f"python{minor}", str(kept))
    return {name: found[name] for name in NAMES if name in found}
