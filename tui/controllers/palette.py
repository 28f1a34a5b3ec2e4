"""What the command palette offers: every key's action, themes, and each place of the fleet."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from core.fleet import Fleet
from core.text import Shown, shown
from core.views.actions.action_menu import MenuEntry
from tui.dialogs.choose import Command
from tui.keys.labels import labels
from tui.keys.table import KEYS, Where
from tui.navigation import Place

if TYPE_CHECKING:
    from tui.app import RoomApp

_MOVEMENT: frozenset[Where] = frozenset({"list"})
_SELF = frozenset({"command", "help"})
_MOST_PLACES = 5_000


def commands_of(app: "RoomApp", fleet: Fleet, able: frozenset[str]) -> tuple[Command, ...]:
    """Return the commands that can do something now, then every place by its name."""
    levers = tuple(_levers(app))
    known = {each.name for each in levers}
    actions = (each for each in _actions(app, able) if each.name not in known)
    begun = (*_guides(app), *_launches(app))
    return (*actions, *levers, *begun, *_themes(app), *_places(app, fleet))


def _levers(app: "RoomApp") -> Iterator[Command]:
    """Yield every action on the selection by its name, also one that is not for it now."""
    front = app.front
    for entry in app.levers.offered(front.targets()) if front is not None else ():
        title = f"{entry.title}: not now, {entry.why_not}" if entry.why_not else entry.title
        yield Command(name=entry.name, title=shown(title, 300), key="", run=_takes(app, entry))


def _guides(app: "RoomApp") -> Iterator[Command]:
    """Yield the guides that can be begun, on the selection where they are on one."""
    guides, front = app.guides, app.front
    if guides is None or front is None:
        return
    for name, title, begin in guides.offered(front.targets()):
        yield Command(name=name, title=title, key="", run=begin)


def _launches(app: "RoomApp") -> Iterator[Command]:
    """Yield a launch of each template."""
    launches = app.launches
    for name, title, begin in launches.offered() if launches is not None else ():
        yield Command(name=name, title=title, key="", run=begin)
    sessions = app.sessions
    if sessions is not None:
        title = Shown("Terminals that runs left: list them, end one")
        yield Command(name=Shown("sessions"), title=title, key="", run=_later(app, sessions.begin))


def _later(app: "RoomApp", begin: Callable[[], object]) -> Callable[[], object]:
    return lambda: app.call_later(begin)


def _takes(app: "RoomApp", entry: MenuEntry) -> Callable[[], object]:
    return lambda: app.call_later(app.levers.take, entry)


def _actions(app: "RoomApp", able: frozenset[str]) -> Iterator[Command]:
    for key in KEYS:
        if key.where in _MOVEMENT or (key.in_bar and key.name not in able | _SELF):
            continue
        if key.name != "command":
            yield Command(
                name=key.word.replace(" ", "-"),
                title=Shown(key.help.rstrip(".")),
                key=labels(app.keys_of(key.name)),
                run=_runs(app, key.action),
            )


def _runs(app: "RoomApp", action: str) -> Callable[[], object]:
    def run() -> None:
        app.call_later(app.run_here, action)

    return run


def _themes(app: "RoomApp") -> Iterator[Command]:
    for name in ("dark", "light", "16"):
        colours = "16 colours" if name == "16" else f"the {name} theme"
        yield Command(
            name=f"theme-{name}", title=Shown(f"Use {colours}"), key="", run=_uses(app, name)
        )


def _uses(app: "RoomApp", name: str) -> Callable[[], object]:
    return lambda: app.use_theme(name)


def _places(app: "RoomApp", fleet: Fleet) -> Iterator[Command]:
    def goes(place: Place) -> Callable[[], object]:
        return lambda: app.go(place)

    for name, machine in fleet.machines.items():
        yield Command(name=shown(name), title=shown(machine.address), key="", run=goes(name))
    for process in fleet.processes:
        where = f"{process.machine}:{process.pid}"
        yield Command(name=shown(where), title=Shown("process"), key="", run=goes(process))
    for count, (key, task) in enumerate(fleet.tasks.items()):
        if count == _MOST_PLACES:
            return
        label = shown(f"{key.machine}:{task.row.task or key.task_id}")
        title = shown(f"{task.row.model}  {key.task_id[:8]}")
        yield Command(name=label, title=title, key="", run=goes(key))
