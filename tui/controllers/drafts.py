"""What the launch form remembers: drafts that were left, and what was chosen on errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from core.ctl.decode import number
from core.launch.form.form import Form, draft_of, form_of_draft
from tui.services import ViewStore

_DRAFTS = 5
"""Drafts that are kept; the oldest go first."""
_CHOICES = 200
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Draft:
    """A form that was left, and when, Unix seconds."""

    form: Form
    at: float


class FormMemory:
    """Kept in a small file of its own; whatever is wrong with it, the form opens.

    Args:
        store: The file; None: nothing outlives this evalroom.
    """

    def __init__(self, store: ViewStore | None) -> None:
        self._store = store
        kept: Mapping[str, Any] = store.load() if store is not None else {}
        self._drafts = _drafts_of(kept.get("drafts"))
        self._on_error = _choices_of(kept.get("on_error"))

    @property
    def drafts(self) -> Sequence[Draft]:
        """The newest first; of one source there is one."""
        return tuple(self._drafts)

    def last_on_error(self, template: str) -> str:
        """Return what was chosen last for this template; empty: nothing yet."""
        return self._on_error.get(template, "")

    def remember_on_error(self, template: str, choice: str) -> None:
        """Keep what was chosen for a template."""
        if template and choice and len(choice) <= _LONGEST:
            self._on_error.pop(template, None)
            self._on_error[template] = choice
            self._save()

    def keep_draft(self, form: Form, left_out: frozenset[str], at: float) -> bool:
        """Keep a form, in place of a former one of the same source; return whether it is kept.

        Args:
            form: What is typed.
            left_out: Keys that are not kept: what they hold may be a secret.
            at: Now, Unix seconds.
        """
        safe = form_of_draft(draft_of(form, left_out))
        if safe is None:
            return False
        self.forget_draft(form.source, save=False)
        self._drafts = [Draft(safe, at), *self._drafts][:_DRAFTS]
        return self._save()

    def forget_draft(self, source: str, *, save: bool = True) -> None:
        """Keep the draft of this source no longer."""
        self._drafts = [each for each in self._drafts if each.form.source != source]
        if save:
            self._save()

    def _save(self) -> bool:
        if self._store is None:
            return True  # for as long as this evalroom runs
        drafts = [{**draft_of(each.form, frozenset()), "at": each.at} for each in self._drafts]
        choices = dict(list(self._on_error.items())[-_CHOICES:])
        return self._store.save({"drafts": drafts, "on_error": choices})


def _drafts_of(kept: object) -> list[Draft]:
    out: list[Draft] = []
    for each in cast("list[object]", kept)[:_DRAFTS] if isinstance(kept, list) else ():
        form = form_of_draft(each)
        if form is not None:
            out.append(Draft(form, number(cast("dict[str, Any]", each), "at") or 0.0))
    return out


def _choices_of(kept: object) -> dict[str, str]:
    held: Mapping[object, object] = {}
    if isinstance(kept, dict):
        held = cast("dict[object, object]", kept)
    return {
        template: choice
        for template, choice in held.items()
        if isinstance(template, str) and isinstance(choice, str) and len(choice) <= _LONGEST
    }
