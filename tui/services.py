"""The services that the app uses, each with the reason when it is missing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from core.config.judge import JudgeConfig
from core.config.model import AttachWay, MachineConfig
from core.ports import Room

if TYPE_CHECKING:
    from core.act.service import ActionService
    from core.guide.runner import GuideRunner
    from core.launch.ports import LaunchService
    from core.launch.run.sessions import MachineSession
    from core.launch.secret_store import SecretStore

T = TypeVar("T")
NO_ACTING = "Nothing can be changed from here: the journal of orders is missing."
NO_LAUNCHING = "Nothing can be launched from here."


class Service(Generic[T]):
    """A service that is made when it is first used, or the reason why it is missing.

    Args:
        make: Returns the service; it is called once. None: the service is missing.
        missing: Why it is missing, a sentence for the operator; empty where it exists.
    """

    def __init__(self, make: Callable[[], T] | None = None, *, missing: str = "") -> None:
        self._make = make
        self._made: T | None = None
        self.missing = missing

    @property
    def exists(self) -> bool:
        """Whether the service exists here."""
        return self._make is not None

    def get(self) -> T | None:
        """Return the service; None where it is missing."""
        if self._made is None and self._make is not None:
            self._made = self._make()
        return self._made


class ViewStore(Protocol):
    """Keeps one small JSON object between two starts."""

    def load(self) -> Mapping[str, Any]:
        """Return the stored object; empty where nothing was."""
        ...

    def save(self, view: Mapping[str, Any]) -> bool:
        """Replace the stored object; return whether that worked."""
        ...


class SessionService(Protocol):
    """The terminal sessions that runs left on the machines."""

    async def list(self) -> "Sequence[MachineSession]":
        """Return the sessions of the machines whose link is up now."""
        ...

    async def end(self, found: "MachineSession") -> None:
        """End one session.

        Raises:
            EvalroomError: The session may still run.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachSettings:
    """How terminals are opened on machines.

    Attributes:
        machines: The config's machines: they say how each is reached.
        way: What the config wants inside tmux.
        known_hosts: Files with the host keys that evalroom accepted.
    """

    machines: Sequence[MachineConfig]
    way: AttachWay
    known_hosts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomServices:
    """The services that the app is given.

    Attributes:
        room: The live desk, or the recording that plays. The app runs it.
        acting: Plans actions and sends orders.
        guiding: Runs the guides.
        runs: Follows the runs and reads what they print.
        launching: Starts runs; where runs can be started, the same service as `runs`.
        sessions: Lists and ends the terminal sessions that runs left.
        attach: How terminals are opened beside the room; None: none can be.
        secrets: The secrets stored on this computer; None: no secret store.
        templates: The folder of the operator's own templates; None: no folder.
        views: Keeps the last view; None: it is not kept.
        looks: Keeps what the operator saw last; None: it is not kept.
        drafts: Keeps drafts of the launch form; None: they end with the app.
        rules: The numbers by which findings are judged.
    """

    room: Room
    acting: "Service[ActionService]" = Service(missing=NO_ACTING)
    guiding: "Service[GuideRunner]" = Service()
    runs: "Service[LaunchService]" = Service(missing=NO_LAUNCHING)
    launching: "Service[LaunchService]" = Service(missing=NO_LAUNCHING)
    sessions: "Service[SessionService]" = Service()
    attach: AttachSettings | None = None
    secrets: "SecretStore | None" = None
    templates: Path | None = None
    views: ViewStore | None = None
    looks: ViewStore | None = None
    drafts: ViewStore | None = None
    rules: JudgeConfig = JudgeConfig()
