"""The launch form: a spec filled in field by field, checked after every key."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, Protocol

from textual.binding import Binding, BindingType

from core.launch.form.form import Form
from core.launch.form.model_variables import ModelVariable, model_variables, names_in
from core.launch.form.validation import CheckedForm, withheld_keys
from core.launch.spec.spec import Spec
from core.ports import Room
from core.text import Shown, shown
from core.views.launch.launch_choices import FieldChoice, choices_for, title_of
from core.views.launch.launch_form import (
    PLAN,
    READS,
    FormContext,
    FormRow,
    explained,
    form_rows,
    keys_to_fix,
    spec_lines,
    status,
    template_text,
)
from tui.dialogs.choices import Choice, ChoiceDialog
from tui.screens.file_export import FileExport
from tui.screens.form_screen import FormScreen
from tui.ui import Ui

_SAVE_AFTER_S = 1.0
"""Delay between a key press and saving the draft."""


_KEYS = (
    ("Enter", "Choose a value for the field; after typing, go to the next field."),
    ("Up Down", "Go to the previous or next field; Tab and Shift+Tab too."),
    ("PgUp PgDn", "Go to the previous or next heading."),
    ("^u ^k", "Delete the text before, or after, the cursor."),
    ("^r", "Open the plan; while a field is wrong, go to that field."),
    ("^Up ^Down", "Scroll the spec; if it is hidden, the help of the field."),
    ("^s", "Save the spec as a template, which the chooser then offers."),
    ("^t", "Start with another template; this draft is saved."),
    ("Esc", "Close the form; if it was changed, it is saved as a draft."),
)


class FormController(Protocol):
    """Checks and launches what the form holds: the controller that opened it."""

    @property
    def templates(self) -> Path | None:
        """The folder of the operator's own templates; None: no folder."""
        ...

    def form_context(self, template: str) -> FormContext:
        """Return what the form needs besides its own text: secrets, the last choices."""
        ...

    def check(self, form: Form) -> CheckedForm:
        """Return a form checked against the machines of the room."""
        ...

    def begin(self) -> None:
        """Choose what to start from: a draft, or a template."""
        ...

    def plan(
        self, spec: Spec, *, form: Form | None = None, launched: Callable[[], None] | None = None
    ) -> None:
        """Open the plan of a spec; `launched` is called once runs were started."""
        ...

    def load_secrets(self, then: Callable[[], None]) -> None:
        """Read the names of the secrets kept on this computer; call `then` afterwards."""
        ...

    def ask_for_secret(self, name: str, then: Callable[[], None]) -> bool:
        """Ask for the value of a secret that is not stored yet; return whether it asks."""
        ...

    def keep_draft(self, form: Form, left_out: frozenset[str]) -> bool:
        """Save a form as a draft, without these keys; return whether it was saved."""
        ...

    def forget_draft(self, source: str) -> None:
        """Delete the draft of this source."""
        ...


class LaunchFormScreen(FormScreen):
    """A spec that is being filled in; runs are started from its plan only.

    Args:
        ui: The app.
        room: The fleet to launch on.
        controller: Checks the form, and opens its plan.
        form: The initial form.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "plan", show=False),
        Binding("ctrl+s", "write", show=False),
        Binding("ctrl+t", "other", show=False),
    ]

    def __init__(self, ui: Ui, room: Room, controller: FormController, form: Form) -> None:
        super().__init__(ui, room)
        self._controller = controller
        self._form = self._begun = form
        self._form_context = controller.form_context(form.template)
        self._checked = controller.check(form)
        self._is_saving = False
        self._arrived = ("", "")
        """The current field, and its text when the cursor came to it."""

    @property
    def key_help(self) -> tuple[tuple[str, str], ...]:
        """Each key of the form with what it does."""
        return _KEYS

    def begin(self) -> None:
        """Move to the first field to fill in."""
        self._controller.load_secrets(self._know_more)
        first = keys_to_fix(self._form, self._checked)
        # A copy of a run begins at its first field: the operator wants to edit it.
        wanted = first[0] if first else self._form.keys[0] if self._form.former else PLAN
        if not self.go(wanted):
            self.go(PLAN)

    def on_unmount(self) -> None:
        """Save the draft."""
        self._keep_draft()

    def on_screen_resume(self) -> None:
        """Return to the field after a dialog."""
        self._know_more()
        self.show_line()

    def _know_more(self) -> None:
        if self.is_mounted:
            self._form_context = self._controller.form_context(self._form.template)
            self.draw()
            self.place_line()

    # Drawing

    def draw(self) -> None:
        """Draw the form."""
        form, checked = self._form, self._checked
        rows = form_rows(form, checked, self._form_context)
        self.fields.show(shown(f"Launch · {form.source}", 100), rows, status(checked))
        self.made.show(Shown("Spec"), spec_lines(checked))
        self.draw_help()

    def draw_help(self) -> None:
        """Draw the help of the current field, and the keys."""
        lines = explained(self._form, self._checked, self._form_context, self.fields.row.name)
        self.field_help.show(Shown("This field"), lines)
        self.key_bar.show(self._keys())

    def _keys(self) -> Iterator[tuple[str, str]]:
        yield "Enter", self._enter_word(self.fields.row)
        yield "^r", "plan" if self._checked.is_ready else "next error"
        yield "Esc", "close, keep draft" if self._form != self._begun else "close"
        yield "F1", "keys"
        yield "Tab", "next"
        yield "PgDn", "section"
        yield "^s", "save template"
        yield "^t", "another template"

    def _enter_word(self, row: FormRow) -> str:
        if row.name == PLAN:
            return "plan" if self._checked.is_ready else "next error"
        if row.name.startswith(READS):
            read = self._read(row.name.removeprefix(READS))
            return "set" if read is not None and read.given is None else "go to it"
        return "choose" if self._offers(row.name) else "next"

    def text_of(self, row: FormRow) -> str:
        """Return the text of a field."""
        if row.name != self._arrived[0]:
            self._arrived = (row.name, self._form.text(row.name))
        return self._form.texts.get(row.name, "")

    def take(self, row: FormRow, text: str) -> None:
        """Set the text of a field, and check the form again."""
        self._take(row.name, text)

    def _take(self, key: str, text: str) -> None:
        if self._form.texts.get(key, "") == text:
            return
        self._form = self._form.typed(key, text)
        self._checked = self._controller.check(self._form)
        self.draw()
        self.place_line()
        if not self._is_saving:
            self._is_saving = True
            self.set_timer(_SAVE_AFTER_S, self._keep_draft)

    # Enter

    def action_enter(self) -> None:
        """Choose a value, set a variable, or go to the next field."""
        name = self.fields.row.name
        if name == PLAN:
            self.action_plan()
        elif name.startswith(READS):
            self._give(name.removeprefix(READS))
        elif name == "secrets" and self._ask_for_next():
            return
        elif offers := self._offers(name):
            self._choose(name, offers)
        else:
            self.action_move(1)

    def _offers(self, key: str) -> tuple[FieldChoice, ...]:
        """Return the choices of a field; none if it was just typed in."""
        text = self._form.text(key)
        if text != self._arrived[1] and key == self._arrived[0]:
            return ()
        room = self.room
        offers = choices_for(key, room.fleet, room.now())
        if not offers or not text or any(each.typed == text for each in offers):
            return offers
        return (FieldChoice(typed=text, title=shown(f"{text}  (keep)", 200)), *offers)

    def _choose(self, key: str, offers: tuple[FieldChoice, ...]) -> None:
        now = self._form.text(key) or (
            self._form_context.last_on_error if key == "on_error" else ""
        )
        choices = [Choice(each, each.title, is_chosen=each.typed == now) for each in offers]

        def chosen(offer: FieldChoice | None) -> None:
            if offer is None:
                return
            self._take(key, offer.typed)
            self._arrived = (key, offer.typed)
            if offer.is_complete:
                self.fields.move(1)
            self.show_line()

        chooser = ChoiceDialog(title_of(key), choices)
        chooser.add_class("wide")
        self.ui.open(chooser, chosen)

    def _give(self, variable: str) -> None:
        read = self._read(variable)
        if read is not None and read.secret is not None:
            if not self._controller.ask_for_secret(read.secret, self._know_more):
                self.go("secrets")
            return
        if read is None or read.given is not None:
            self.go(read.given if read is not None and read.given is not None else "env")
            return
        key = "secrets" if read.variable.is_secret else "env"
        before = self._form.text(key)
        added = variable if key == "secrets" else f"{variable} = "
        self._take(key, f"{before}, {added}" if before else added)
        if key == "env":
            self.go(key)
        else:
            self._controller.ask_for_secret(variable, self._know_more)
            self.action_move(1)

    def _read(self, variable: str) -> ModelVariable | None:
        found = (
            each for each in model_variables(self._checked.table) if each.variable.name == variable
        )
        return next(found, None)

    def _ask_for_next(self) -> bool:
        """Ask for the first secret of the spec that is not stored; return whether there is one."""
        named = names_in(self._checked.table, "secrets").values()
        return any(self._controller.ask_for_secret(each, self._know_more) for each in named)

    # Plan, template, close

    def action_plan(self) -> None:
        """Open the plan; while a field is wrong, go to that field."""
        spec = self._checked.spec
        if self._checked.is_ready and spec is not None:
            self._keep_draft()
            self._controller.plan(spec, form=self._form, launched=self.discard)
            return
        wrong = keys_to_fix(self._form, self._checked)
        here = self.fields.row.name
        after = wrong[wrong.index(here) + 1 :] if here in wrong else wrong
        wanted = (after or wrong)[0]
        if wanted == here or not self.fields.move_to(wanted):
            self.ui.say(f"{wanted or 'the spec'}: {self._checked.wrong[wanted].what}", "warning")
        self.show_line()

    def action_write(self) -> None:
        """Save the spec as a template."""
        form = self._form
        text, left_out = template_text(self._checked, f"As {form.source}")
        folder = self._controller.templates
        name = f"my-{form.template}" if form.template else f"run-{form.source[-8:]}"
        place = Path("~") if folder is None else folder
        what = "the spec" if not left_out else f"the spec without {', '.join(left_out)}"
        file = FileExport(self.ui, self, shown(what, 100), text.encode(), makes=folder)
        file.ask(str(place / f"{name}.toml"))

    def action_other(self) -> None:
        """Close this form, and choose another template."""
        self.action_leave()
        self._controller.begin()

    def action_leave(self) -> None:
        """Close the form; save it as a draft if it was changed."""
        if self._form != self._begun:
            left_out = sorted(withheld_keys(self._form, self._checked))
            but = f" without {', '.join(left_out)} (may contain a secret)" if left_out else ""
            if self._keep_draft():
                self.ui.say(shown(f"Draft saved{but}. Press n to continue it.", 300))
            else:
                self.ui.say("The draft can't be saved. Is the disk full?", "error")
            self._begun = self._form
        self.dismiss(None)

    def discard(self) -> None:
        """Close the form and delete its draft: its spec was launched."""
        self._begun = self._form
        self._controller.forget_draft(self._form.source)
        self.dismiss(None)

    def _keep_draft(self) -> bool:
        self._is_saving = False
        if self._form == self._begun:
            return True
        left_out = withheld_keys(self._form, self._checked)
        return self._controller.keep_draft(self._form, left_out)
