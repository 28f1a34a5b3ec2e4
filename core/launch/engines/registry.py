"""The engines that there are."""

from core.errors import SpecWrong
from core.launch.engines.detach import DetachEngine
from core.launch.engines.engine import Engine
from core.launch.engines.tmux import TmuxEngine
from core.text import shown

DEFAULT_ENGINE = DetachEngine.name
"""The engine of a spec that names none."""
ENGINES: dict[str, Engine] = {"detach": DetachEngine(), "tmux": TmuxEngine()}


def engine_named(name: str) -> Engine:
    """Return an engine.

    Raises:
        SpecWrong: There is none of this name.
    """
    found = ENGINES.get(name)
    if found is None:
        allowed = ", ".join(ENGINES)
        raise SpecWrong(f'"engine" is wrong: "{shown(name, 60)}"', f"allowed: {allowed}")
    return found


def engines_by_program() -> dict[str, tuple[str, ...]]:
    """Return the programs that engines need on a machine, with the names of these engines."""
    found: dict[str, tuple[str, ...]] = {}
    for engine in ENGINES.values():
        if engine.needs is not None:
            found[engine.needs] = (*found.get(engine.needs, ()), engine.name)
    return found


def terminal_engine_line() -> str:
    """Return how a spec asks for an engine whose Inspect has a terminal: `engine = "tmux"`."""
    names = (f'"{each.name}"' for each in ENGINES.values() if each.has_terminal)
    return f"engine = {' or '.join(names)}"
