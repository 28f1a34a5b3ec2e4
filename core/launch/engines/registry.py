"""All engines, by name."""

from core.errors import SpecWrong
from core.launch.engines.detach import DetachEngine
from core.launch.engines.engine import Engine
from core.launch.engines.tmux import TmuxEngine
from core.text import shown

DEFAULT_ENGINE = DetachEngine.name
"""The engine of a spec without the key `engine`."""
ENGINES: dict[str, Engine] = {"detach": DetachEngine(), "tmux": TmuxEngine()}


def engine_named(name: str) -> Engine:
    """Return the engine of this name.

    Raises:
        SpecWrong: No engine has this name.
    """
    found = ENGINES.get(name)
    if found is None:
        allowed = ", ".join(ENGINES)
        raise SpecWrong(f'"engine" is wrong: "{shown(name, 60)}"', f"allowed: {allowed}")
    return found


def engines_by_program() -> dict[str, tuple[str, ...]]:
    """Return the programs that engines need on a machine, each with the engines that need it."""
    found: dict[str, tuple[str, ...]] = {}
    for engine in ENGINES.values():
        if engine.needs is not None:
            found[engine.needs] = (*found.get(engine.needs, ()), engine.name)
    return found


def terminal_engine_line() -> str:
    """Return the line of a spec that chooses an engine with a terminal: `engine = "tmux"`."""
    names = (f'"{each.name}"' for each in ENGINES.values() if each.has_terminal)
    return f"engine = {' or '.join(names)}"
