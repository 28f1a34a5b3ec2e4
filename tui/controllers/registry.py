"""Makes and loads each controller when it is first used, so that the first frame comes sooner."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from core.text import Shown
from core.views.cells import Span
from tui.controllers.places import PlaceController
from tui.services import RoomServices
from tui.ui import Ui

if TYPE_CHECKING:
    from core.act.target_expansion import ActionPlace
    from tui.controllers.actions import ActionController
    from tui.controllers.attach import AttachController
    from tui.controllers.findings import FindingController
    from tui.controllers.guides import GuideController
    from tui.controllers.launches import LaunchController
    from tui.controllers.palette import PaletteController
    from tui.controllers.sessions import SessionController
    from tui.controllers.since import SinceController
    from tui.dialogs.palette import PaletteCommand


class Controllers:
    """Makes each controller once, over the services that there are.

    Args:
        ui: The app.
        services: What the controllers use.
        orders_changed: Called when the header's totals of orders may have changed.

    Attributes:
        places: Acts on the place under the cursor.
    """

    def __init__(
        self, ui: Ui, services: RoomServices, *, orders_changed: Callable[[], None]
    ) -> None:
        self._ui = ui
        self._services = services
        self._orders_changed = orders_changed
        self.places = PlaceController(ui, services.room, services.rules)
        self._actions: ActionController | None = None
        self._findings: FindingController | None = None
        self._since: SinceController | None = None
        self._guides: GuideController | None = None
        self._launches: LaunchController | None = None
        self._terminals: AttachController | None = None
        self._palette: PaletteController | None = None

    @property
    def since(self) -> "SinceController":
        """Says what changed since the operator looked."""
        if self._since is None:
            from tui.controllers.since import SinceController  # noqa: PLC0415

            self._since = SinceController(self._ui, self._services.room, looks=self._services.looks)
        return self._since

    @property
    def can_act(self) -> bool:
        """Whether anything can be changed from here."""
        return self._services.acting.exists

    @property
    def can_launch(self) -> bool:
        """Whether a run can be launched from here."""
        return self._services.launching.exists

    @property
    def actions(self) -> "ActionController":
        """Acts on a selection, and follows what was sent."""
        if self._actions is None:
            from tui.controllers.actions import ActionController  # noqa: PLC0415

            self._actions = ActionController(self._ui, self._services.room, self._services.acting)
            self._actions.updated.connect(lambda _: self._orders_changed())
        return self._actions

    @property
    def findings(self) -> "FindingController":
        """Acts on findings."""
        if self._findings is None:
            from tui.controllers.findings import FindingController  # noqa: PLC0415

            self._findings = FindingController(
                self._ui, self._services.room, actions=lambda: self.actions
            )
        return self._findings

    @property
    def guides(self) -> "GuideController | None":
        """Runs guides; None if this room can run none."""
        guiding = self._services.guiding.get() if self._guides is None else None
        if guiding is not None:
            from tui.controllers.guides import GuideController  # noqa: PLC0415

            preview = self.actions.preview_plan
            self._guides = GuideController(self._ui, self._services.room, guiding, preview=preview)
        return self._guides

    @property
    def launches(self) -> "LaunchController":
        """Launches runs, and reads what they print."""
        if self._launches is None:
            from tui.controllers.drafts import FormMemory  # noqa: PLC0415
            from tui.controllers.launches import LaunchController  # noqa: PLC0415

            services = self._services
            self._launches = LaunchController(
                self._ui,
                services.room,
                runs=services.runs,
                launching=services.launching,
                memory=FormMemory(services.drafts),
                secrets=services.secrets,
                templates=services.templates,
            )
        return self._launches

    @property
    def sessions(self) -> "SessionController | None":
        """Lists the terminal sessions that runs left; None: they can't be listed here."""
        sessions = self._services.sessions.get()
        if sessions is None:
            return None
        from tui.controllers.sessions import SessionController  # noqa: PLC0415

        return SessionController(self._ui, self._services.room, sessions)

    @property
    def terminals(self) -> "AttachController | None":
        """Opens terminals of runs and samples; None: none can be opened here."""
        if self._terminals is None and self._services.attach is not None:
            from tui.controllers.attach import AttachController  # noqa: PLC0415

            self._terminals = AttachController(self._ui, self._services.attach)
        return self._terminals

    def palette(
        self,
        *,
        keys_of: Callable[[str], str],
        run_action: Callable[[str], Awaitable[None]],
        use_theme: Callable[[str], None],
    ) -> "PaletteController":
        """Return what opens the command palette; the arguments are those of its class."""
        if self._palette is None:
            from tui.controllers.palette import PaletteController  # noqa: PLC0415

            self._palette = PaletteController(
                self._ui,
                self._services.room,
                keys_of=keys_of,
                run_action=run_action,
                use_theme=use_theme,
            )
        return self._palette

    def commands(self, places: "tuple[ActionPlace, ...]") -> Iterator["PaletteCommand"]:
        """Yield the palette's commands other than keys: actions, guides, launches, sessions."""
        from tui.dialogs.palette import PaletteCommand  # noqa: PLC0415

        yield from self.actions.commands(places)
        if self.guides is not None:
            yield from self.guides.commands(places)
        yield from self.launches.commands()
        sessions = self.sessions
        if sessions is not None:
            title = Shown("Terminal sessions that runs left: list them, end one")
            yield PaletteCommand(name=Shown("sessions"), title=title, key="", run=sessions.begin)

    # Orders that were sent

    def order_totals(self) -> tuple[Span, ...]:
        """Return the header's totals of orders that are not dismissed; empty without any."""
        return self._actions.totals() if self._actions is not None else ()

    def refresh_orders(self) -> None:
        """Redraw the outcomes of orders if they are on screen."""
        if self._actions is not None:
            self._actions.renew()
