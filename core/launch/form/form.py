"""The launch form while it is filled in: one line of text for each key of a spec."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, cast

from core.errors import SpecWrong
from core.launch.form.field_text import field_line
from core.launch.form.fields import FIELD_BY_KEY, FormField
from core.launch.spec.templates import Template
from core.launch.spec.yaml_quote import plain
from core.text import shown

LEAVE_OUT = "-"
"""Typed as the only value: remove the key instead of keeping the original value."""
_MAX_CHARS = 20_000
"""Longest text of a field, characters."""


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The texts of all fields.

    Attributes:
        source: What the form started from: the name of a template or the id of a run.
        template: Name of the template; empty: it did not start from one.
        texts: The typed texts by key; a missing key is blank.
        former: By key, the values of the duplicated run, which blank fields keep.
    """

    source: str
    template: str = ""
    texts: Mapping[str, str] = field(default_factory=_nothing)
    former: Mapping[str, str] = field(default_factory=_nothing)

    def typed(self, key: str, text: str) -> "Form":
        """Return the form with a new text in one field."""
        texts = {**self.texts, key: text[:_MAX_CHARS]}
        return replace(self, texts=MappingProxyType(texts))

    def text(self, key: str) -> str:
        """Return the text that counts for a key, typed or kept from the former run; empty: none."""
        typed = self.texts.get(key, "").strip()
        if typed == LEAVE_OUT and key in self.former:
            return ""
        return typed or self.former.get(key, "")

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all fields: those of a spec, then unknown keys of the source."""
        more = (key for key in (*self.texts, *self.former) if key not in FIELD_BY_KEY)
        return (*FIELD_BY_KEY, *dict.fromkeys(more))


def field_of(key: str) -> FormField:
    """Return the field of a key; an unknown key gets a field of its own."""
    return FIELD_BY_KEY.get(key) or FormField(
        key=key,
        section="Unknown",
        kind="value",
        help="a spec does not have this key: leave it blank",
    )


def form_of_template(template: Template) -> Form:
    """Return the form of a template.

    Raises:
        SpecWrong: The template is not valid TOML.
    """
    try:
        table = tomllib.loads(template.text)
    except (ValueError, RecursionError):
        name = shown(template.name)
        raise SpecWrong(
            f"the template {name} is not valid TOML", f"see it with: evalroom templates {name}"
        ) from None
    return Form(source=template.name, template=template.name, texts=_texts(table))


def form_of_run(run: str, spec: Mapping[str, Any]) -> Form:
    """Return the form that duplicates a run; blank fields keep the run's values."""
    former = _texts(plain(spec))
    return Form(source=run, texts=former, former=former)


def _texts(table: Mapping[str, Any]) -> Mapping[str, str]:
    texts = {
        key: field_line(field_of(key).kind, value) for key, value in table.items() if value != ""
    }
    return MappingProxyType({key: text[:_MAX_CHARS] for key, text in texts.items()})


# Drafts


def draft_of(form: Form, left_out: frozenset[str]) -> dict[str, Any]:
    """Return a form as a table for JSON, without the fields of the keys in `left_out`."""
    return {
        "source": form.source,
        "template": form.template,
        "texts": _without(form.texts, left_out),
        "former": _without(form.former, left_out),
    }


def _without(texts: Mapping[str, str], keys: frozenset[str]) -> dict[str, str]:
    return {key: text for key, text in texts.items() if key not in keys and text}


def form_of_draft(draft: object) -> Form | None:
    """Return the form of a stored draft; None if it is not a draft."""
    match draft:
        case {"source": str(source), "template": str(template)}:
            held = cast("dict[str, object]", draft)
            texts, former = _kept(held.get("texts")), _kept(held.get("former"))
            return Form(source=source, template=template, texts=texts, former=former)
        case _:
            return None


def _kept(texts: object) -> Mapping[str, str]:
    held = cast("dict[object, object]", texts) if isinstance(texts, dict) else {}
    return MappingProxyType(
        {
            key: text[:_MAX_CHARS]
            for key, text in held.items()
            if isinstance(key, str) and isinstance(text, str)
        }
    )
