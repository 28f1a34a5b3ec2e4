"""Drafts of the launch form, and the last on_error choice of each template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from core.ctl.decode import number
from core.launch.form.form import Form, draft_of, form_of_draft
from tui.services import ViewStore

_MOST_DRAFTS = 5
"""At most this many drafts are kept; the oldest are dropped first."""
_CHOICES = 200
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Draft:
    """A form that was left.

    Attributes:
        at: When it was left, Unix seconds.
    """

    form: Form
    at: float


class FormMemory:
    """Keeps drafts in a small file; an unreadable file counts as empty.

    Args:
        store: The file; None: drafts end with evalroom.
    """

    def __init__(self, store: ViewStore | None) -> None:
        self._store = store
        kept: Mapping[str, Any] = store.load() if store is not None else {}
        self._drafts = _drafts_of(kept.get("drafts"))
        self._on_error = _choices_of(kept.get("on_error"))

    @property
    def drafts(self) -> Sequence[Draft]:
        """The drafts, newest first; at most one for each source."""
        return tuple(self._drafts)

    def last_on_error(self, template: str) -> str:
        """Return the last choice for this template; empty without one."""
        return self._on_error.get(template, "")

    def remember_on_error(self, template: str, choice: str) -> None:
        """Keep the choice for a template."""
        if template and choice and len(choice) <= _LONGEST:
            self._on_error.pop(template, None)
            self._on_error[template] = choice
            self._save()

    def keep_draft(self, form: Form, left_out: frozenset[str], at: float) -> bool:
        """Keep a form, replacing the draft of the same source; return whether that worked.

        Args:
            form: The form.
            left_out: Keys that are not kept, because their values may be secrets.
            at: Now, Unix seconds.
        """
        safe = form_of_draft(draft_of(form, left_out))
        if safe is None:
            return False
        self.forget_draft(form.source, save=False)
        self._drafts = [Draft(safe, at), *self._drafts][:_MOST_DRAFTS]
        return self._save()

    def forget_draft(self, source: str, *, save: bool = True) -> None:
        """Delete the draft of this source."""
        self._drafts = [each for each in self._drafts if each.form.source != source]
        if save:
            self._save()

    def _save(self) -> bool:
        if self._store is None:
            return True  # kept in memory
        drafts = [{**draft_of(each.form, frozenset()), "at": each.at} for each in self._drafts]
        choices = dict(list(self._on_error.items())[-_CHOICES:])
        return self._store.save({"drafts": drafts, "on_error": choices})


def _drafts_of(kept: object) -> list[Draft]:
    out: list[Draft] = []
    for each in cast("list[object]", kept)[:_MOST_DRAFTS] if isinstance(kept, list) else ():
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
