"""Makes the services of the app, for a live desk or a recording."""

from typing import TYPE_CHECKING, Any

from cli.wiring.actions import acting_of, guiding_of
from storage.secrets import Secrets
from storage.view_state import LOOK_BYTES, ViewState
from tui.services import AttachSettings, RoomServices, Service

if TYPE_CHECKING:
    from cli.wiring.history import History
    from cli.wiring.launches import DeskSessions
    from core.config.model import Config
    from core.desk.desk import Desk
    from core.guide.runner import GuideRunner
    from core.launch.ports import LaunchService
    from core.ports import Room
    from storage.paths import Paths


def room_services(
    desk: "Desk", config: "Config", history: "History", places: "Paths"
) -> RoomServices:
    """Return the services of a live desk; each is created at its first use."""
    acting = Service(lambda: acting_of(desk, history))

    def make_guiding() -> "GuideRunner":
        made = acting.get()
        assert made is not None  # noqa: S101 - `acting` is made above, so it is not missing
        return guiding_of(desk, made, history)

    def make_launching() -> "LaunchService":
        from cli.wiring.launches import launches_of  # noqa: PLC0415 - not for the first frame

        return launches_of(desk, config, history)

    def make_sessions() -> "DeskSessions":
        from cli.wiring.launches import DeskSessions  # noqa: PLC0415

        return DeskSessions(desk)

    runs: Service[LaunchService] = Service(make_launching)
    launching: Service[LaunchService] = runs
    if config.read_only:
        launching = Service(missing="Nothing can be launched: evalroom is read-only.")
    elif history.run_store is None:
        launching = Service(
            missing="Nothing can be launched: runs can't be recorded without a history."
        )
    return RoomServices(
        room=desk,
        acting=acting,
        guiding=Service(make_guiding),
        runs=runs,
        launching=launching,
        sessions=Service(make_sessions),
        attach=AttachSettings(
            machines=config.machines,
            way=config.screen.attach,
            known_hosts=(str(places.known_hosts),),
        ),
        secrets=Secrets(places.secrets),
        templates=places.config_file.parent / "templates",
        views=ViewState(places.view_state),
        drafts=ViewState(places.launch_drafts),
        looks=ViewState(places.last_look, LOOK_BYTES),
        rules=config.judge,
    )


def replay_services(room: "Room") -> RoomServices:
    """Return the services of a recording: nothing can be changed or launched."""
    launching: Service[Any] = Service(missing="This is a recording: nothing can be launched.")
    return RoomServices(
        room=room,
        acting=Service(missing="This is a recording: nothing can be changed."),
        runs=launching,
        launching=launching,
    )
