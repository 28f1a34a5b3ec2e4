"""Typed access to the app of a widget."""

from typing import cast

from textual.app import App
from textual.dom import DOMNode


def app_of(node: DOMNode) -> App[object]:
    """Return the app that a widget or screen belongs to."""
    return cast("App[object]", node.app)  # pyright: ignore[reportUnknownMemberType]
