"""The part of the room that can change something: its levers are loaded when first needed."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from core.config.model import ScreenConfig
from core.views.cells import Span
from tui.navigation import GUIDES
from tui.terminal.terminal_app import TerminalApp

if TYPE_CHECKING:
    from core.act.service import Acting
    from core.guide.runner import GuideRunner
    from tui.app import RoomApp
    from tui.controllers.actions import Levers
    from tui.controllers.guides import GuideLevers


class ActingApp(TerminalApp, inherit_bindings=False):
    """An app with the operator's hands.

    Args:
        acting: The hands, or what makes them once the first frame is drawn; None: nothing can be
            changed from here, and the keys say so.
    """

    def __init__(
        self,
        config: ScreenConfig,
        *,
        keep_crash: Callable[[str], str | None] | None,
        environ: Mapping[str, str] | None,
        acting: "Acting | Callable[[], Acting] | None",
    ) -> None:
        super().__init__(config, keep_crash=keep_crash, environ=environ)
        self._given = acting
        self._levers: Levers | None = None
        self._guides: GuideLevers | None = None
        self.make_guiding: Callable[[Acting], GuideRunner] | None = None
        """Makes the guides over the hands; None: there are none."""

    @property
    def acting(self) -> "Acting | None":
        """The hands; made when first asked for."""
        if callable(self._given):
            self._given = self._given()
        return self._given

    @acting.setter
    def acting(self, acting: "Acting | None") -> None:
        self._given = acting
        self._levers = None

    @property
    def can_act(self) -> bool:
        """Whether anything can be changed from here."""
        return self._given is not None

    @property
    def levers(self) -> "Levers":
        """The hands of the operator, on screen."""
        if self._levers is None:
            from tui.controllers.actions import Levers  # noqa: PLC0415 - the first frame does without

            self._levers = Levers(cast("RoomApp", self), self.acting)
        return self._levers

    @property
    def guides(self) -> "GuideLevers | None":
        """The guides on screen; None: there are none here."""
        acting = self.acting
        if self._guides is None and acting is not None and self.make_guiding is not None:
            from tui.controllers.guides import GuideLevers  # noqa: PLC0415

            self._guides = GuideLevers(cast("RoomApp", self), self.make_guiding(acting))
        return self._guides

    def action_guides(self) -> None:
        """Open the guides."""
        cast("RoomApp", self).go(GUIDES)

    def order_totals(self) -> tuple[Span, ...]:
        """Return what the header says of orders that are not dismissed; empty for none."""
        return self._levers.totals() if self._levers is not None else ()

    def renew_orders(self) -> None:
        """Draw what a later look found out of orders, where their outcomes are on screen."""
        if self._levers is not None:
            self._levers.renew()

    def run_levers(self) -> None:
        """Look after orders beside the room; first called behind the first frame."""
        if self.can_act:
            self.run_worker(self.levers.run(), name="acting", exit_on_error=False)
