"""Textual's bindings, made from the table of keys."""

from textual.binding import Binding, BindingType

from tui.keys.table import KEYS, Where


def bindings(*wheres: Where) -> list[BindingType]:
    """Return the Textual bindings of the keys that work in these places."""
    return [
        Binding(key.keys, key.action, key.word, show=key.in_bar, id=key.name)
        for key in KEYS
        if key.where in wheres
    ]
