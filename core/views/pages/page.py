"""The data of a detail page: sections of facts, each with a label and a cell."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.text import Shown, shown
from core.views.cells import Cell, Tone, text_cell


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a page: a label and its value; an empty value is unknown.

    With an empty label, the line continues the fact above it.
    """

    label: Shown
    value: Cell


@dataclass(frozen=True, slots=True)
class Section:
    """Facts under one heading."""

    title: Shown
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A detail page."""

    title: Shown
    sections: tuple[Section, ...]


def fact(label: str, value: Cell) -> Fact:
    """Return a fact with a cell."""
    return Fact(shown(label), value)


def words(label: str, value: object, tone: Tone = "plain", limit: int = 200) -> Fact:
    """Return a fact with untrusted text, made harmless; unknown if it is empty."""
    return Fact(shown(label), text_cell(value, tone, limit))


def section(title: str, facts: Iterable[Fact]) -> Section:
    """Return a section."""
    return Section(shown(title), tuple(facts))


def page(title: str, sections: Iterable[Section]) -> Page:
    """Return a page without its empty sections."""
    return Page(shown(title), tuple(each for each in sections if each.facts))
