"""The command palette: key actions, commands of the controllers, themes, and all places."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial

from core.fleet import Fleet
from core.ports import Room
from core.text import Shown, shown
from tui.dialogs.palette import PaletteCommand, PaletteDialog
from tui.keys.labels import labels
from tui.keys.table import KEYS, Where
from tui.navigation import Place
from tui.ui import Ui

_MOVEMENT: frozenset[Where] = frozenset({"list"})
_SELF = frozenset({"command", "help"})
_MOST_PLACES = 5_000


class PaletteController:
    """Opens the palette, and runs what is chosen in it.

    Args:
        ui: The app.
        room: The fleet whose places are offered.
        keys_of: Returns the keys of a name of `tui.keys.table`, as they are mapped now.
        run_action: Runs the action of a key where the operator is.
        use_theme: Uses the theme of this name: `dark`, `light` or `16`.
    """

    def __init__(
        self,
        ui: Ui,
        room: Room,
        *,
        keys_of: Callable[[str], str],
        run_action: Callable[[str], Awaitable[None]],
        use_theme: Callable[[str], None],
    ) -> None:
        self._ui = ui
        self._room = room
        self._keys_of = keys_of
        self._run_action = run_action
        self._use_theme = use_theme
        self._palette: PaletteDialog | None = None

    def open(self, available_keys: Iterable[str], offered: Iterable[PaletteCommand]) -> None:
        """Open the palette, unless it is open already.

        Args:
            available_keys: The names of the keys that can do something now.
            offered: More commands: actions on the selection, guides, launches.
        """
        if self._palette is not None and self._palette.is_active:
            return
        self._palette = PaletteDialog(self.commands(frozenset(available_keys), tuple(offered)))

        def chosen(command: PaletteCommand | None) -> None:
            if command is not None:
                self._ui.later(command.run)

        self._ui.open(self._palette, chosen)

    def commands(
        self, available_keys: frozenset[str], offered: tuple[PaletteCommand, ...]
    ) -> tuple[PaletteCommand, ...]:
        """Return the commands that can do something now, then all places."""
        known = {each.name for each in offered}
        actions = (each for each in self._actions(available_keys) if each.name not in known)
        return (*actions, *offered, *self._themes(), *self._places(self._room.fleet))

    def _actions(self, available_keys: frozenset[str]) -> Iterator[PaletteCommand]:
        for key in KEYS:
            if key.where in _MOVEMENT or (key.in_bar and key.name not in available_keys | _SELF):
                continue
            if key.name.startswith("pane_") and key.name not in available_keys:
                continue
            if key.name != "command":
                yield PaletteCommand(
                    name=key.word.replace(" ", "-"),
                    title=Shown(key.help.rstrip(".")),
                    key=labels(self._keys_of(key.name)),
                    run=partial(self._run_action, key.action),
                )

    def _themes(self) -> Iterator[PaletteCommand]:
        for name in ("dark", "light", "16"):
            colours = "16 colours" if name == "16" else f"the {name} theme"
            yield PaletteCommand(
                name=f"theme-{name}",
                title=Shown(f"Use {colours}"),
                key="",
                run=partial(self._use_theme, name),
            )

    def _places(self, fleet: Fleet) -> Iterator[PaletteCommand]:
        for name, machine in fleet.machines.items():
            yield self._place(name, shown(name), shown(machine.address))
        for process in fleet.processes:
            where = f"{process.machine}:{process.pid}"
            yield self._place(process, shown(where), Shown("process"))
        for count, (key, task) in enumerate(fleet.tasks.items()):
            if count == _MOST_PLACES:
                return
            label = shown(f"{key.machine}:{task.row.task or key.task_id}")
            yield self._place(key, label, shown(f"{task.row.model}  {key.task_id[:8]}"))

    def _place(self, place: Place, name: Shown, title: Shown) -> PaletteCommand:
        return PaletteCommand(name=name, title=title, key="", run=partial(self._ui.go, place))
