"""The part of the room that can launch: its levers are loaded when first needed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from core.config.model import ScreenConfig
from core.quoting import plain_word
from core.text import shown
from tui.acting_app import ActingApp
from tui.navigation import RUNS

if TYPE_CHECKING:
    from core.act.service import Acting
    from core.launch.ports import LaunchService
    from core.launch.secret_store import SecretStore
    from core.model.run import Run
    from tui.app import RoomApp, ViewStore
    from tui.controllers.attach import Attaching
    from tui.controllers.launches import LaunchLevers
    from tui.controllers.sessions import SessionLevers, Sessions

_AFTER = 1.0
"""Seconds behind the first frame until runs are looked after: live rows come first."""
_NOT_HERE = "nothing can be launched from here"


class LaunchingApp(ActingApp, inherit_bindings=False):
    """An app that runs can be launched from.

    Attributes:
        make_launching: Makes the launches of the room, once the first frame is drawn; None:
            nothing can be launched from here, and the keys say so.
        launch_store: Where drafts of the form are kept; None: nowhere.
        templates: The folder of the operator's own templates; None: there is none.
        secret_store: The secrets that are kept on this computer; None: not known here.
        make_attaching: Makes what opens terminals beside the room; None: nothing does.
        make_sessions: Makes what lists and ends the terminals that runs left; None: nothing does.
        newest_run: The id of the run that was launched last; the list of runs goes there once.
        why_no_launch: Why nothing is launched although runs are looked after; empty: it may be.
    """

    def __init__(
        self,
        config: ScreenConfig,
        *,
        keep_crash: Callable[[str], str | None] | None,
        environ: Mapping[str, str] | None,
        acting: "Acting | Callable[[], Acting] | None",
    ) -> None:
        super().__init__(config, keep_crash=keep_crash, environ=environ, acting=acting)
        self.make_launching: Callable[[], LaunchService] | None = None
        self.launch_store: ViewStore | None = None
        self.templates: Path | None = None
        self.secret_store: SecretStore | None = None
        self.why_no_launch = ""
        self.newest_run: str | None = None
        self.make_attaching: Callable[[], Attaching] | None = None
        self._attaching: Attaching | None = None
        self.make_sessions: Callable[[], Sessions] | None = None
        self._launching: LaunchService | None = None
        self._launches: LaunchLevers | None = None

    @property
    def launching(self) -> "LaunchService | None":
        """The launches of the room; made when first asked for."""
        if self._launching is None and self.make_launching is not None:
            self._launching = self.make_launching()
        return self._launching

    @property
    def can_launch(self) -> bool:
        """Whether a run can be launched from here."""
        return self.make_launching is not None and not self.why_no_launch

    @property
    def launches(self) -> "LaunchLevers | None":
        """The launches on screen; None: nothing can be launched from here."""
        launching = self.launching if self.can_launch else None
        if self._launches is None and launching is not None:
            from tui.controllers.launches import LaunchLevers  # noqa: PLC0415 - the first frame does without

            self._launches = LaunchLevers(cast("RoomApp", self), launching)
        return self._launches

    def run_levers(self) -> None:
        """Look after orders and runs beside the room; first called behind the first frame."""
        super().run_levers()
        if self.make_launching is not None:
            self.set_timer(_AFTER, self._run_launching)

    def _run_launching(self) -> None:
        launching = self.launching
        if launching is not None:
            self.run_worker(launching.run(), name="the runs", exit_on_error=False)

    @property
    def sessions(self) -> "SessionLevers | None":
        """The terminals that runs left, on screen; None: none can be listed here."""
        if self.make_sessions is None:
            return None
        from tui.controllers.sessions import SessionLevers  # noqa: PLC0415 - the first frame does without

        return SessionLevers(cast("RoomApp", self), self.make_sessions())

    def action_runs(self) -> None:
        """Open the list of runs."""
        cast("RoomApp", self).go(RUNS)

    def action_launch(self) -> None:
        """Begin a launch."""
        launches = self.launches
        if launches is None:
            self.say_no_launch()
        else:
            launches.begin()

    def say_no_launch(self) -> None:
        """Say why nothing can be launched."""
        app = cast("RoomApp", self)
        if app.room.is_replay:
            app.say("a recording plays: nothing can be launched", "look")
        else:
            app.say(self.why_no_launch or _NOT_HERE, "look")

    @property
    def attaching(self) -> "Attaching | None":
        """What opens terminals beside the room; None: nothing does here."""
        if self._attaching is None and self.make_attaching is not None:
            self._attaching = self.make_attaching()
        return self._attaching

    def attach(self, run: "Run") -> None:
        """Show a run's own display; where nothing can, its command goes to the clipboard."""
        app = cast("RoomApp", self)
        if self.attaching is not None:
            self.attaching.attach(run)
            return
        app.send_to_clipboard(shown(" ".join(plain_word(word) for word in run.attach)), "command")
