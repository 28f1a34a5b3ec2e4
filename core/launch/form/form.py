"""A launch spec while it is filled in: a line of text for each key."""

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
"""Typed alone, it leaves out what a blank would keep."""
_MAX_CHARS = 20_000
"""Most characters of a field."""


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What is typed so far.

    Attributes:
        source: What it began as, for people: a template's name, a run's id.
        template: The template's name, for what is remembered by it; empty: it was none.
        texts: By key of the spec; a key that is not there is blank.
        former: What a blank field keeps, by key: of the run that is duplicated.
    """

    source: str
    template: str = ""
    texts: Mapping[str, str] = field(default_factory=_nothing)
    former: Mapping[str, str] = field(default_factory=_nothing)

    def typed(self, key: str, text: str) -> "Form":
        """Return the form with another text in a field."""
        texts = {**self.texts, key: text[:_MAX_CHARS]}
        return replace(self, texts=MappingProxyType(texts))

    def text(self, key: str) -> str:
        """Return what counts for a key: what is typed, or what a blank keeps; empty: nothing."""
        typed = self.texts.get(key, "").strip()
        if typed == LEAVE_OUT and key in self.former:
            return ""
        return typed or self.former.get(key, "")

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that has a field: those of a spec, then unknown ones of what it began as."""
        more = (key for key in (*self.texts, *self.former) if key not in FIELD_BY_KEY)
        return (*FIELD_BY_KEY, *dict.fromkeys(more))


def field_of(key: str) -> FormField:
    """Return the field of a key; one of its own for a key that no spec has."""
    return FIELD_BY_KEY.get(key) or FormField(
        key=key, section="Unknown", kind="value", help="no spec has this key: leave it blank"
    )


def form_of_template(template: Template) -> Form:
    """Return the form that a template fills.

    Raises:
        SpecWrong: It is no TOML.
    """
    try:
        table = tomllib.loads(template.text)
    except (ValueError, RecursionError):
        name = shown(template.name)
        raise SpecWrong(
            f"the template {name} can't be read", f"evalroom templates {name} shows it"
        ) from None
    return Form(source=template.name, template=template.name, texts=_texts(table))


def form_of_run(run: str, spec: Mapping[str, Any]) -> Form:
    """Return the form that duplicates a run: what is left blank keeps the former value."""
    former = _texts(plain(spec))
    return Form(source=run, texts=former, former=former)


def _texts(table: Mapping[str, Any]) -> Mapping[str, str]:
    texts = {
        key: field_line(field_of(key).kind, value) for key, value in table.items() if value != ""
    }
    return MappingProxyType({key: text[:_MAX_CHARS] for key, text in texts.items()})


# Drafts


def draft_of(form: Form, left_out: frozenset[str]) -> dict[str, Any]:
    """Return a form as JSON keeps it, without the fields of these keys."""
    return {
        "source": form.source,
        "template": form.template,
        "texts": _without(form.texts, left_out),
        "former": _without(form.former, left_out),
    }


def _without(texts: Mapping[str, str], keys: frozenset[str]) -> dict[str, str]:
    return {key: text for key, text in texts.items() if key not in keys and text}


def form_of_draft(draft: object) -> Form | None:
    """Return the form of a kept draft; None where it is none."""
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
