"""A connection to a simulated machine inside the test, in the test's own time."""

from dataclasses import replace

from core.frames import Frame
from core.ids import MachineName
from tests.support.clocks import SetClock
from tests.support.connections import FakeConnection, down, up
from tests.support.sim.far_side import FarSide, Settings


class SimConnection(FakeConnection):
    """A machine whose probe polls when the test says so.

    Args:
        machine: Its name.
        settings: How large it is.
        clock: The time at the desk, and there.
    """

    def __init__(self, machine: MachineName, settings: Settings, clock: SetClock) -> None:
        super().__init__(machine)
        self._clock = clock
        self._settings = settings
        self._side: FarSide | None = None

    @property
    def is_running(self) -> bool:
        """Whether the desk listens to it."""
        return self._receive is not None

    def connect(self) -> None:
        """The link comes up, and a new probe says hello."""
        self._side = FarSide(self.machine, self._settings)
        self.say(up(self.machine, self._clock.now()), *self._side.open(self._clock.now()))

    def lose(self) -> None:
        """The link goes down."""
        self._side = None
        self.say(down(self.machine, self._clock.now()))

    def start_others(self) -> None:
        """All its evals end, and as many others start: the next probe lists those."""
        first = self._settings.first + self._settings.processes
        self._settings = replace(self._settings, first=first)

    def poll(self) -> None:
        """The probe polls what is due now."""
        if self._side is not None:
            self.say(*self._side.tick(self._clock.now()))

    def send(self, frame: Frame) -> bool:
        if self._side is not None:
            self.say(*self._side.answers_to(frame, self._clock.now()))
        return True
