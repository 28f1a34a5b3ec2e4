"""The probe's file as a module, to try its functions one by one."""

import importlib.util
from functools import lru_cache
from types import ModuleType

from tests.support.direct_probe import PROBE


@lru_cache(maxsize=1)
def probe_module() -> ModuleType:
    """Return it; it starts nothing when it is imported."""
    spec = importlib.util.spec_from_file_location("shipped_probe", PROBE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
