"""What a room over a live desk is fitted with beside the desk: guides, launches, terminals."""

from typing import TYPE_CHECKING

from cli.wiring.actions import guiding_of
from storage.secrets import Secrets
from storage.view_state import ViewState

if TYPE_CHECKING:
    from cli.wiring.history import History
    from cli.wiring.launches import DeskSessions
    from core.config.model import Config
    from core.desk.desk import Desk
    from core.launch.run.service import DeskLaunchService
    from storage.paths import Paths
    from tui.app import RoomApp
    from tui.controllers.attach import Attaching


def fit(
    app: "RoomApp", desk: "Desk", config: "Config", history: "History", places: "Paths"
) -> None:
    """Let the room use guides, launches and terminals; each is made when it is first used."""

    def make_launching() -> "DeskLaunchService":
        from cli.wiring.launches import launches_of  # noqa: PLC0415 - the first frame does without

        return launches_of(desk, config, history)

    app.make_guiding = lambda acting: guiding_of(desk, acting, history)
    app.make_launching = make_launching
    app.launch_store = ViewState(places.launch_drafts)
    app.templates = places.config_file.parent / "templates"
    if config.read_only:
        app.why_no_launch = "nothing is launched: evalroom is read-only"
    elif history.run_book is None:
        app.why_no_launch = "nothing is launched: runs can't be kept here"

    def make_sessions() -> "DeskSessions":
        from cli.wiring.launches import DeskSessions  # noqa: PLC0415

        return DeskSessions(desk)

    app.make_sessions = make_sessions
    app.secret_store = Secrets(places.secrets)

    def make_attaching() -> "Attaching":
        from tui.controllers.attach import Attaching  # noqa: PLC0415

        return Attaching(
            app,
            config.machines,
            way=config.screen.attach,
            known_hosts=(str(places.known_hosts),),
        )

    app.make_attaching = make_attaching
