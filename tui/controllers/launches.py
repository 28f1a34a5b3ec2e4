"""Launches: from a template, a draft or a run, through the form and the plan, to the start."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from core import format as fmt
from core.errors import EvalroomError, NotConfirmed, RequestFailed, SpecWrong
from core.launch.form.field_text import field_line
from core.launch.form.form import Form, form_of_run, form_of_template
from core.launch.form.validation import CheckedForm, check_form, machines_of
from core.launch.ports import LaunchService, OutputChunk
from core.launch.preflight.checks import CheckedPlan
from core.launch.progress import OnProgress
from core.launch.run.start_progress import StartProgress
from core.launch.secret_store import SecretStore, check_value
from core.launch.spec.spec import Spec
from core.launch.spec.spec_reader import check_table
from core.launch.spec.spec_writer import spec_table
from core.launch.spec.templates import Template, templates
from core.launch.spec.yaml_quote import plain
from core.model.run import Run, RunState
from core.ports import Room
from core.text import Shown, shown
from core.views.launch.launch_form import FormContext
from tui.controllers.drafts import FormMemory
from tui.dialogs.choices import Choice, ChoiceDialog
from tui.dialogs.launch_plan import LaunchPlanDialog
from tui.dialogs.palette import PaletteCommand
from tui.dialogs.secret_value import SecretValueDialog
from tui.navigation import RUNS
from tui.screens.launch_form import LaunchFormScreen
from tui.services import Service
from tui.ui import Ui

_NAME = 12


class LaunchController:
    """Launches runs from a template, a draft or a run, through the form and the plan.

    Args:
        ui: The app.
        room: The fleet to launch on.
        runs: Reads the output of runs.
        launching: Checks plans and starts runs.
        memory: Keeps drafts of the form.
        secrets: The secrets stored on this computer; None: no secret store.
        templates: The folder of the operator's own templates; None: no folder.

    Attributes:
        memory: Keeps drafts of the form.
        templates: The folder of the operator's own templates; None: no folder.
        newest: The id of the run that was started last; the list moves its cursor to it once.
    """

    def __init__(
        self,
        ui: Ui,
        room: Room,
        *,
        runs: Service[LaunchService],
        launching: Service[LaunchService],
        memory: FormMemory,
        secrets: SecretStore | None = None,
        templates: Path | None = None,
    ) -> None:
        self._ui = ui
        self._room = room
        self._runs = runs
        self._service = launching
        self._store = secrets
        self._secrets: frozenset[str] | None = None
        self.memory = memory
        self.templates = templates
        self.newest: str | None = None

    @property
    def can_read_output(self) -> bool:
        """Whether the output of runs can be read."""
        return self._runs.exists

    async def output(self, run: Run) -> OutputChunk:
        """Return the end of a run's output.

        Raises:
            RequestFailed: It can't be read.
        """
        runs = self._runs.get()
        if runs is None:
            raise RequestFailed(self._runs.missing)
        return await runs.output(run)

    def _may_launch(self) -> bool:
        """Whether a run can be launched; if not, show why."""
        if not self._service.exists:
            self._ui.say(self._service.missing, "warning")
        return self._service.exists

    @property
    def _launching(self) -> LaunchService:
        launching = self._service.get()
        if launching is None:
            raise NotConfirmed(self._service.missing)
        return launching

    def form_context(self, template: str) -> FormContext:
        """Return what the form needs besides its own text: secrets, the last choices."""
        return FormContext(secrets=self._secrets, last_on_error=self.memory.last_on_error(template))

    # Secrets, by name

    def load_secrets(self, then: Callable[[], None]) -> None:
        """Read the names of the secrets kept on this computer; call `then` afterwards."""
        self._ui.background(self._read_secrets(then), "reading secrets")

    async def _read_secrets(self, then: Callable[[], None]) -> None:
        store = self._store
        if store is not None:
            try:
                self._secrets = frozenset(await store.names())
            except EvalroomError as error:
                self._say(error)
            else:
                then()

    def ask_for_secret(self, name: str, then: Callable[[], None]) -> bool:
        """Ask for the value of a secret unless it is already stored; return whether it asks."""
        if self._store is None or name in (self._secrets or ()):
            return False

        def typed(value: str | None) -> None:
            if value is not None:
                self._ui.background(self._keep_secret(name, value, then), "storing a secret")

        self._ui.open(SecretValueDialog(name), typed)
        return True

    async def _keep_secret(self, name: str, value: str, then: Callable[[], None]) -> None:
        store = self._store
        if store is None:
            return
        try:
            check_value(name, value)
            where = await store.set(name, value)
        except EvalroomError as error:
            self._say(error)
        else:
            self._ui.say(f"{name} is stored in the {where}.")
            await self._read_secrets(then)

    # Beginning

    def begin(self) -> None:
        """Let the operator choose a draft or a template."""
        if not self._may_launch():
            return
        now = self._room.now()
        choices: list[Choice[Callable[[], None]]] = [
            Choice(
                partial(self.open, draft.form),
                shown(f"draft       {draft.form.source}, saved {fmt.age(now - draft.at)} ago", 200),
            )
            for draft in self.memory.drafts
        ]
        choices += [
            Choice(partial(self.begin_with, each), _title(each))
            for each in templates(self.templates)
        ]
        chooser = ChoiceDialog(Shown("New run from"), choices)
        chooser.add_class("wide")

        def chosen(begin: Callable[[], None] | None) -> None:
            if begin is not None:
                begin()

        self._ui.open(chooser, chosen)

    def begin_with(self, template: Template) -> None:
        """Open the form on a template."""
        try:
            self.open(form_of_template(template))
        except SpecWrong as error:
            self._say(error)

    def open(self, form: Form) -> None:
        """Open the form."""
        self._ui.open(LaunchFormScreen(self._ui, self._room, self, form))

    def commands(self) -> Iterator[PaletteCommand]:
        """Yield a launch of each template for the palette."""
        for each in templates(self.templates) if self._service.exists else ():
            yield PaletteCommand(
                name=shown(f"launch-{each.name}"),
                title=shown(f"Launch: {each.title}", 200),
                key="",
                run=partial(self.begin_with, each),
            )

    # From a run

    def duplicate(self, run: Run) -> None:
        """Open the form on the spec of a run."""
        if not self._may_launch():
            return
        if run.spec:
            self.open(form_of_run(run.id, run.spec))
        else:
            self._ui.say(_NO_SPEC, "warning")

    def again(self, run: Run) -> None:
        """Go straight to the plan of a run's own spec."""
        if not self._may_launch():
            return
        if run.state is RunState.ELSEWHERE:
            host = shown(run.host or "another host", 100)
            self._ui.say(
                f"This run may still be running on {host}. Look there before you start it again.",
                "warning",
            )
            return
        spec, problems = check_table(plain(run.spec)) if run.spec else (None, ())
        if spec is not None:
            self.plan(replace(spec, author="" if run.is_ours else _author(run)))
        elif not run.spec:
            self._ui.say(_NO_SPEC, "warning")
        else:
            what = problems[0].what if problems else "it can't be read"
            self._ui.say(
                f"The spec of this run is no longer valid: {what}. Press d to edit it.", "warning"
            )

    # The plan, and starting it

    def plan(
        self, spec: Spec, *, form: Form | None = None, launched: Callable[[], None] | None = None
    ) -> None:
        """Open the plan of a spec; confirming the plan starts the runs.

        Args:
            spec: The spec to launch.
            form: The form that the spec was typed in; its draft is deleted at the start.
            launched: Called once runs were started and the plan is closed.
        """
        run = self._room.fleet.runs.get(form.source) if form is not None else None
        if run is not None and not run.is_ours:
            spec = replace(spec, author=_author(run))
        dialog = LaunchPlanDialog(self, self._room, spec, form=form)

        def left(_: None) -> None:
            if dialog.began:
                if launched is not None:
                    launched()
                self._ui.go(RUNS)

        self._ui.open(dialog, left)

    async def preflight(
        self, spec: Spec, *, on_progress: OnProgress | None = None
    ) -> tuple[CheckedPlan, ...]:
        """Return the runs of a spec, each on the machine that fits, with its checks.

        Raises:
            SpecWrong: The spec can't be launched with this config.
        """
        return await self._launching.check(spec, on_progress=on_progress)

    def start(self, checked: Sequence[CheckedPlan], form: Form | None) -> StartProgress:
        """Start runs that were confirmed, in the background."""
        self.newest = checked[0].plan.run
        starting = StartProgress(checked)
        self._ui.background(self._started(starting, form), "launching")
        return starting

    async def _started(self, starting: StartProgress, form: Form | None) -> None:
        failed: Shown | None = Shown("The launch was interrupted. Check the list of runs.")
        try:
            for run in await self._launching.launch(starting.checked, on_change=starting.update):
                starting.update(run)
            failed = None
        except EvalroomError as error:
            failed = shown(error.sentence, 600)
        finally:
            if form is not None and (failed is None or starting.runs):
                self._remember(form, starting.checked[0])
            starting.end(failed)

    def _remember(self, form: Form, launched: CheckedPlan) -> None:
        choice = spec_table(launched.plan.spec)["on_error"]
        self.memory.remember_on_error(form.template, field_line("on_error", choice))
        self.memory.forget_draft(form.source)

    def keep_draft(self, form: Form, left_out: frozenset[str]) -> bool:
        """Save a form as a draft, without these keys; return whether it was saved."""
        return self.memory.keep_draft(form, left_out, self._room.now())

    def forget_draft(self, source: str) -> None:
        """Delete the draft of this source."""
        self.memory.forget_draft(source)

    def check(self, form: Form) -> CheckedForm:
        """Return a form checked against the machines of the room."""
        return check_form(form, machines_of(self._room.fleet))

    def _say(self, error: EvalroomError) -> None:
        self._ui.say(error.sentence, "warning")


_NO_SPEC = "The spec of this run is unknown: evalroom did not launch it."


def _title(template: Template) -> Shown:
    own = "" if template.path is None else "  (yours)"
    return shown(f"{template.name:<{_NAME}}{template.title}{own}", 200)


def _author(run: Run) -> str:
    return run.operator or "Someone else"
