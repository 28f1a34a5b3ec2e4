"""One dialog for a launch: its preflight, its confirmation, and its runs as they start.

Only Enter starts the launch, and only once the plan has been on screen for a moment.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input
from textual.worker import Worker

from core.errors import EvalroomError
from core.format import plural
from core.launch.form.form import Form
from core.launch.preflight.checks import CheckedPlan
from core.launch.progress import OnProgress
from core.launch.spec.spec import Spec
from core.model.run import Run
from core.ports import Room
from core.text import Shown, shown
from core.views.cells import Span, TextLine, span_of
from core.views.launch.launch_plan import (
    body_lines,
    foot_lines,
    has_details,
    head_lines,
    launched_lines,
    launched_summary,
    stopped,
    title_of,
    words_of,
)
from tui.dialogs.guarded_dialog import GuardedDialog

if TYPE_CHECKING:
    from core.launch.run.start_progress import StartProgress

_LaunchPhase = Literal["checking", "failed", "plan", "launching"]


class PlanLauncher(Protocol):
    """Checks and starts runs: the controller that opened the dialog."""

    async def preflight(
        self, spec: Spec, *, on_progress: OnProgress | None = None
    ) -> Sequence[CheckedPlan]:
        """Return the runs of a spec, each on the machine that fits, with its checks.

        Raises:
            SpecWrong: The spec can't be launched with this config.
        """
        ...

    def start(self, checked: Sequence[CheckedPlan], form: Form | None) -> "StartProgress":
        """Start runs that were confirmed, in the background."""
        ...


class LaunchPlanDialog(GuardedDialog):
    """Shows a launch from its preflight to its runs.

    Args:
        launcher: Checks and starts.
        room: The fleet that is launched on.
        spec: The spec to launch.
        form: The form that the spec was typed in; None if there was no form.

    Attributes:
        began: Whether anything was started.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "confirm", show=False),
        Binding("x", "leave_out", show=False),
        Binding("d", "details", show=False),
        Binding("g", "check_again", show=False),
        Binding("tab,shift+tab", "turn", show=False),
    ]

    def __init__(
        self, launcher: PlanLauncher, room: Room, spec: Spec, *, form: Form | None
    ) -> None:
        super().__init__()
        self._launcher = launcher
        self._room = room
        self._spec = spec
        self._form = form
        self.began = False
        self._phase: _LaunchPhase = "checking"
        self._checked: tuple[CheckedPlan, ...] = ()
        self._starting: StartProgress | None = None
        self._checking: Worker[None] | None = None
        self._progress = self._failed = self._message = Shown("")
        self._details = False
        self._disconnect: Callable[[], None] = lambda: None
        self._words = self.line("words", "")

    def compose(self) -> ComposeResult:
        """Lay out the dialog with its input."""
        yield from self.composed(self._words)

    def on_mount(self) -> None:
        """Start the preflight."""
        self._check()

    def on_unmount(self) -> None:
        """Stop listening; runs keep starting."""
        self._disconnect()

    # The preflight

    def _check(self) -> None:
        self._phase, self._checked = "checking", ()
        self._progress = self._message = Shown("")
        self.set_focus(None)
        self.draw(from_top=True)
        self._checking = self.run_worker(self._preflight(), exit_on_error=False, exclusive=True)

    async def _preflight(self) -> None:
        try:
            checked = await self._launcher.preflight(self._spec, on_progress=self._show_progress)
        except EvalroomError as error:
            self._fail(shown(error.sentence, 1_000))
            return
        if checked:
            self._offer(checked)
        else:
            self._fail(Shown("This spec produces no runs."))

    def _fail(self, why: Shown) -> None:
        self._phase, self._failed = "failed", why
        self.set_focus(None)
        self.draw(from_top=True)

    def _show_progress(self, sentence: str) -> None:
        self._progress = shown(sentence, 300)
        self.draw()

    def _offer(self, checked: Sequence[CheckedPlan]) -> None:
        """Show a plan for confirmation."""
        self._phase, self._checked, self._message = "plan", tuple(checked), Shown("")
        self._words.value = ""
        self.guard_keys()
        self.draw(from_top=True)
        self._focus_words()

    def _focus_words(self) -> None:
        self.set_focus(self._words if self._words.display else None)

    # Drawing

    def title_text(self) -> Shown:
        """Return the title."""
        match self._phase:
            case "checking" | "plan":
                return Shown("Plan · nothing has been started")
            case "failed":
                return Shown("Plan · nothing was started")
            case "launching":
                is_running = self._starting is not None and self._starting.is_running
                return Shown("Launch · starting" if is_running else "Launch · result")

    def head(self) -> Iterable[TextLine]:
        """Return what is launched, with the result of the checks."""
        if self._phase == "plan":
            return (*head_lines(self._checked, self._room.fleet), ())
        if self._starting is not None:
            report = launched_summary(self._runs, len(self._checked))
            return ((Span(title_of(self._checked), "strong"),), report, ())
        task, model = ", ".join(self._spec.task), ", ".join(self._spec.model)
        return (
            (Span(shown(f"Launch {task}", 200), "strong"), Span(shown(f"  {model}", 200), "dim")),
            (),
        )

    def body(self) -> Iterator[TextLine]:
        """Return the checks of each run, or the runs as they start."""
        if self._phase == "checking":
            on = ", ".join("the machines" if each == "any" else each for each in self._spec.machine)
            yield (Span(self._progress or shown(f"checking {on} ..."), "dim"),)
        elif self._phase == "failed":
            yield (Span(self._failed, "warning"),)
        elif self._phase == "plan":
            yield from body_lines(self._checked, self._room.fleet, details=self._details)
        elif self._starting is not None:
            yield from launched_lines(self._runs, self._checked)
            if self._starting.failed is not None:
                yield ()
                yield (Span(self._starting.failed, "error"),)

    def foot(self) -> Iterator[TextLine]:
        """Return how the launch is confirmed, and why it is not yet."""
        if self._phase == "plan":
            yield from foot_lines(self._checked, self._room.fleet)
        elif self._starting is not None and self._starting.is_running:
            yield (span_of("runs start in the background; Esc opens the list of runs", "dim"),)
        if self._message:
            yield (Span(self._message, "warning"),)

    def keys(self) -> Iterator[tuple[str, str]]:
        """Return the keys that work now, each with its word."""
        if self._starting is not None:
            yield "Enter Esc", "open the runs"
            return
        back = "back to the form" if self._form is not None else "close"
        if self._phase == "plan" and not stopped(self._checked):
            count = len(self._checked)
            yield "Enter", "launch" if count == 1 else f"launch {count}"
        if self.is_typing(self._words):
            yield from [("Tab", "other keys"), ("Esc", back)]
            return
        if self._phase == "plan":
            stops = stopped(self._checked)
            if stops and len(stops) < len(self._checked):
                yield "x", f"skip {len(stops)}"
            if has_details(self._checked):
                yield "d", "less" if self._details else "more"
        if self._phase in {"plan", "failed"}:
            yield "g", "check again"
        yield "Esc", back

    def draw(self, *, from_top: bool = False) -> None:
        """Draw the current state."""
        wanted = ""
        if self._phase == "plan" and not stopped(self._checked):
            wanted = words_of(self._checked, self._room.fleet)
        self._words.display = bool(wanted)
        self._words.placeholder = wanted
        super().draw(from_top=from_top)

    # Keys

    def action_confirm(self) -> None:
        """Start the launch; once it has started, go to the list of runs."""
        if self._starting is not None:
            if self.was_seen:
                self.action_leave()
            return
        if self._phase != "plan" or not self.was_seen:
            return
        stops = stopped(self._checked)
        if stops:
            name = stops[0].stops[0].name
            self._say(f"Not started: the check {name} failed.")
            return
        wanted, typed = words_of(self._checked, self._room.fleet), self._words.value.strip()
        if wanted and typed != wanted:
            self._words.value = ""
            self._say(f"{shown(typed, 60)} does not match" if typed else "")
            return
        self._follow(self._launcher.start(self._checked, self._form))

    def _say(self, sentence: str) -> None:
        self._message = shown(sentence, 300)
        self.draw()

    @on(Input.Submitted, "#words")
    def _words_typed(self) -> None:
        self.action_confirm()

    def on_descendant_focus(self) -> None:
        """Draw the keys that work while the input has the focus."""
        self.draw()

    def action_turn(self) -> None:
        """Move the focus between the confirming words and the other keys."""
        if self.is_typing(self._words):
            self.set_focus(None)
            self.draw()
        else:
            self._focus_words()

    def action_leave_out(self) -> None:
        """Skip the runs that a check stops."""
        stops = stopped(self._checked)
        if self._phase == "plan" and stops and len(stops) < len(self._checked):
            self._offer([each for each in self._checked if not each.stops])
            self._say(f"Skipped {plural(len(stops), 'run')}.")

    def action_details(self) -> None:
        """Each run in full, or in short again."""
        self._details = not self._details
        self.draw()

    def action_check_again(self) -> None:
        """Run the preflight again."""
        if self._phase in {"plan", "failed"} and self._starting is None:
            self._check()

    def action_leave(self) -> None:
        """Close it; runs keep starting."""
        if self._checking is not None:
            self._checking.cancel()
        self.dismiss(None)

    # After the start

    @property
    def _runs(self) -> tuple[Run, ...]:
        """The runs as the fleet knows them, else as they were reported at the start."""
        known = self._room.fleet.runs
        report = self._starting.runs if self._starting is not None else ()
        return tuple(known.get(run.id, run) for run in report)

    def _follow(self, starting: "StartProgress") -> None:
        self._starting, self._phase, self._message = starting, "launching", Shown("")
        self.began = True
        self._disconnect = starting.updated.connect(lambda _: self._take_changes())
        self.set_interval(1.0, self.draw)
        self.set_focus(None)
        self.guard_keys()
        self.draw(from_top=True)
        self._take_changes()

    def _take_changes(self) -> None:
        starting = self._starting
        if starting is None or not self.is_mounted:
            return
        if starting.failed is not None and not starting.runs:
            # No run was recorded, so none has started: the operator can correct the form.
            self.began, self._starting = False, None
            self._fail(starting.failed)
            return
        self.draw()
