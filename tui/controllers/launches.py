"""Launches on screen: from a template, a draft or a run over the form to the plan, and started."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from core import format as fmt
from core.errors import EvalroomError, SpecWrong
from core.launch.form.field_text import field_line
from core.launch.form.form import Form, form_of_run, form_of_template
from core.launch.form.validation import CheckedForm, check_form, machines_of
from core.launch.ports import LaunchService
from core.launch.preflight.checks import CheckedPlan
from core.launch.run.start_progress import StartProgress
from core.launch.secret_store import check_value
from core.launch.spec.spec import Spec
from core.launch.spec.spec_reader import check_table
from core.launch.spec.spec_writer import spec_table
from core.launch.spec.templates import Template, template_named, templates
from core.launch.spec.yaml_quote import plain
from core.model.run import Run
from core.text import Shown, shown
from core.views.launch.launch_form import FormContext
from tui.controllers.drafts import FormMemory
from tui.dialogs.ask_value import AskValue
from tui.dialogs.choose import Choice, Choose
from tui.dialogs.launch_plan import LaunchPlan
from tui.navigation import RUNS
from tui.screens.launch_form import LaunchForm

if TYPE_CHECKING:
    from tui.app import RoomApp

_TEMPLATE, _DRAFT = "template:", "draft:"
_NAME = 12
Offered = tuple[Shown, Shown, Callable[[], object]]
"""A command's name, what it does, and what runs it."""


class LaunchLevers:
    """The launches of this evalroom, for the screens.

    Args:
        app: The room.
        launching: Checks and starts.
    """

    def __init__(self, app: "RoomApp", launching: LaunchService) -> None:
        self._app = app
        self.launching = launching
        self.memory = FormMemory(app.launch_store)
        self._secrets: frozenset[str] | None = None

    def around(self, template: str) -> FormContext:
        """Return what the form knows beside what is typed."""
        return FormContext(secrets=self._secrets, last_on_error=self.memory.last_on_error(template))

    # Secrets, by name

    def look_for_secrets(self, then: Callable[[], None]) -> None:
        """Read which secrets are kept on this computer; `then` is called when that is known."""
        self._app.run_worker(self._read_secrets(then), name="the secrets", exit_on_error=False)

    async def _read_secrets(self, then: Callable[[], None]) -> None:
        store = self._app.secret_store
        if store is not None:
            try:
                self._secrets = frozenset(await store.names())
            except EvalroomError as error:
                self._say(error)
            else:
                then()

    def ask_for_secret(self, name: str, then: Callable[[], None]) -> bool:
        """Ask for the value of a secret that is not kept yet; return whether it is asked for."""
        if self._app.secret_store is None or name in (self._secrets or ()):
            return False

        def typed(value: str | None) -> None:
            if value is not None:
                self._app.run_worker(
                    self._keep_secret(name, value, then), name="a secret", exit_on_error=False
                )

        self._app.push_screen(AskValue(name), typed)
        return True

    async def _keep_secret(self, name: str, value: str, then: Callable[[], None]) -> None:
        store = self._app.secret_store
        if store is None:
            return
        try:
            check_value(name, value)
            where = await store.set(name, value)
        except EvalroomError as error:
            self._say(error)
        else:
            self._app.say(f"{name} is kept in the {where}")
            await self._read_secrets(then)

    # Beginning

    def begin(self) -> None:
        """Choose what to begin with: a draft, or a template."""
        now = self._app.room.now()
        choices = [
            Choice(
                f"{_DRAFT}{draft.form.source}",
                shown(f"go on with  {draft.form.source}, left {fmt.age(now - draft.at)} ago", 200),
            )
            for draft in self.memory.drafts
        ]
        choices += [
            Choice(f"{_TEMPLATE}{each.name}", _title(each))
            for each in templates(self._app.templates)
        ]
        chooser = Choose(Shown("Begin a run with"), choices)
        chooser.add_class("wide")
        self._app.push_screen(chooser, self._chosen)

    def _chosen(self, name: str | None) -> None:
        if name is None:
            return
        if name.startswith(_DRAFT):
            source = name.removeprefix(_DRAFT)
            found = next((d.form for d in self.memory.drafts if d.form.source == source), None)
            if found is not None:
                self.open(found)
            return
        self.begin_with(name.removeprefix(_TEMPLATE))

    def begin_with(self, template: str) -> None:
        """Open the form on a template."""
        try:
            self.open(form_of_template(template_named(template, templates(self._app.templates))))
        except SpecWrong as error:
            self._say(error)

    def open(self, form: Form) -> None:
        """Open the form."""
        self._app.push_screen(LaunchForm(self, form))

    def offered(self) -> Iterator[Offered]:
        """Yield a launch of each template, for the palette."""
        for each in templates(self._app.templates):
            yield (
                shown(f"launch-{each.name}"),
                shown(f"Launch: {each.title}", 200),
                self._beginning(each.name),
            )

    def _beginning(self, template: str) -> Callable[[], object]:
        return lambda: self._app.call_later(self.begin_with, template)

    # From a run

    def duplicate(self, run: Run) -> None:
        """Open the form on the spec of a run."""
        if run.spec:
            self.open(form_of_run(run.id, run.spec))
        else:
            self._app.say(_NO_SPEC, "look")

    def again(self, run: Run) -> None:
        """Go straight to the plan of a run's own spec."""
        spec, problems = check_table(plain(run.spec)) if run.spec else (None, ())
        if spec is not None:
            self.plan(spec)
        elif not run.spec:
            self._app.say(_NO_SPEC, "look")
        else:
            what = problems[0].what if problems else "it can't be read"
            self._app.say(f"its spec is none any more: {what}; d edits it", "look")

    # The plan, and starting it

    def plan(self, spec: Spec, *, form: Form | None = None) -> None:
        """Open the plan of a spec; nothing is started before it is confirmed there.

        Args:
            spec: What is launched.
            form: What it was typed in: it is put away once the launch began.
        """
        dialog = LaunchPlan(self, self._app, spec, form=form)

        def left(_: None) -> None:
            if not dialog.began:
                return
            top = self._app.screen
            if isinstance(top, LaunchForm):
                top.put_away()
            self._app.go(RUNS)

        self._app.push_screen(dialog, left)

    def start(self, checked: Sequence[CheckedPlan], form: Form | None) -> StartProgress:
        """Start runs that were confirmed, beside the keys."""
        self._app.newest_run = checked[0].plan.run
        starting = StartProgress(checked)
        self._app.run_worker(self._started(starting, form), name="launching", exit_on_error=False)
        return starting

    async def _started(self, starting: StartProgress, form: Form | None) -> None:
        failed: Shown | None = Shown("launching broke off: the list of runs says what is there")
        try:
            for run in await self.launching.launch(starting.checked, tell=starting.tell):
                starting.tell(run)
            failed = None
        except EvalroomError as error:
            failed = shown(f"{error.message}{'; ' * bool(error.advice)}{error.advice}", 600)
        finally:
            if form is not None and (failed is None or starting.runs):
                self._remember(form, starting.checked[0])
            starting.end(failed)

    def _remember(self, form: Form, launched: CheckedPlan) -> None:
        choice = spec_table(launched.plan.spec)["on_error"]
        self.memory.remember_on_error(form.template, field_line("on_error", choice))
        self.memory.forget_draft(form.source)

    def check(self, form: Form) -> CheckedForm:
        """Return a form checked against the machines of the room."""
        return check_form(form, machines_of(self._app.room.fleet))

    def _say(self, error: EvalroomError) -> None:
        self._app.say(f"{error.message}; {error.advice}" if error.advice else error.message, "look")


_NO_SPEC = "its spec is not known here: it was launched by another hand"


def _title(template: Template) -> Shown:
    own = "" if template.path is None else "  (yours)"
    return shown(f"{template.name:<{_NAME}}{template.title}{own}", 200)
