"""Textual's private names that the app uses: each is there, and no other module knows one."""

import ast
import inspect
import sys
from functools import cache
from importlib import import_module

import pytest
from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.app import App
from textual.driver import Driver
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from tests.support.tree import ROOT
from tui.terminal import textual_internals

INTERNALS = ROOT / "tui" / "terminal" / "textual_internals.py"
USED = (
    (App, "_close_messages_no_wait", "ends the app after a crash"),
    (App, "_driver", "what reads from and writes to the terminal"),
    (App, "_exception", "the error that the app ends with"),
    (App, "_exception_event", "tells a pilot of that error"),
    (App, "_exit_renderables", "what is printed once the terminal is given back"),
    (App, "_fatal_error", "prints a traceback with values, and is overridden"),
    (App, "_handle_exception", "hears of every error, and is overridden"),
    (App, "_return_code", "the exit status"),
    (LinuxDriver, "_auto_restart", "whether the driver itself takes the terminal again"),
    (LinuxDriver, "_disable_mouse_support", "gives the mouse back"),
    (LinuxDriver, "_enable_mouse_support", "asks for the mouse"),
    (LinuxDriver, "_file", "what is written to"),
    (LinuxDriver, "_get_terminal_size", "is asked for the size, and is overridden"),
    (LinuxDriver, "_mouse", "whether the mouse is asked for at the start"),
    (LinuxDriver, "_run_input_thread", "reads what is typed, and is overridden"),
    (LinuxDriver, "_sigcont_application", "goes on after a stop, and is overridden"),
    (LinuxDriver, "_sigtstp_application", "stops the program, and waits for the loop"),
    (LinuxDriver, "_writer_thread", "writes to the terminal"),
    (WriterThread, "_queue", "what is not written yet"),
    (Screen, "_compositor", "puts a screen together"),
    (Widget, "_styles_cache", "keeps the lines that a widget drew"),
    (Compositor, "_get_renders", "gives the lines that are cut, and is overridden"),
)
"""Each private name that the module uses, with what it is for."""


@cache
def names_of(owner: type) -> frozenset[str]:
    """Return the names that a class and its bases of Textual define or assign to `self`."""
    names: set[str] = set()
    for each in owner.__mro__:
        if each.__module__.startswith("textual"):
            names |= set(vars(each))
            source = inspect.getsource(sys.modules[each.__module__])
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.ClassDef) and node.name == each.__name__:
                    names |= {
                        inner.attr
                        for inner in ast.walk(node)
                        if isinstance(inner, ast.Attribute)
                        and isinstance(inner.value, ast.Name)
                        and inner.value.id == "self"
                    }
    return frozenset(names)


def private_uses(source: str) -> set[str]:
    """Return the private names that a module reads, sets or defines."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) != "os":
            names.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


@pytest.mark.parametrize(("owner", "name", "what"), USED, ids=str)
def test_textual_still_has_what_the_app_uses(owner: type, name: str, what: str) -> None:
    assert name in names_of(owner), (
        f"Textual's {owner.__name__} no longer has {name} ({what}): "
        "change tui/terminal/textual_internals.py"
    )


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("textual._compositor", "Compositor"),
        ("textual._compositor", "ChopsUpdate"),
        ("textual._styles_cache", "StylesCache"),
        ("textual.drivers._writer_thread", "WriterThread"),
    ],
)
def test_textual_still_has_the_private_classes_that_the_app_uses(module: str, name: str) -> None:
    assert inspect.isclass(getattr(import_module(module), name, None)), (
        f"{module} no longer has the class {name}: change tui/terminal/textual_internals.py"
    )


def test_the_compositor_still_has_what_is_overridden() -> None:
    for owner, name in (
        (textual_internals.OpenCompositor, "render_partial_update"),
        (textual_internals.OpenCompositor, "render_strips"),
        (textual_internals.ChopsUpdate, "render_segments"),
        (StylesCache, "get_inner_outer"),
    ):
        assert callable(getattr(owner, name, None)), f"{owner.__name__} no longer has {name}"
    given = list(inspect.signature(textual_internals.ChopsUpdate).parameters)
    assert given == ["chops", "spans", "chop_ends"]


def test_every_private_name_that_the_module_uses_is_listed_here() -> None:
    owners = (App, Compositor, LinuxDriver, Screen)
    textuals = frozenset[str]().union(*(names_of(owner) for owner in owners))
    listed = {name for _, name, _ in USED}
    assert private_uses(INTERNALS.read_text()) & textuals <= listed


def test_no_other_module_knows_a_private_name_of_textual() -> None:
    owners = (App, Driver, LinuxDriver, ModalScreen, Screen, Widget, WriterThread)
    textuals = {
        name
        for owner in owners
        for name in names_of(owner)
        if name.startswith("_") and not name.startswith("__")
    }
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "tui").rglob("*.py"))
        if path != INTERNALS
        for name in private_uses(path.read_text()) & textuals
    }
    assert found == set()


def test_no_other_module_imports_a_private_module_of_textual() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tui").rglob("*.py"))
        if path != INTERNALS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("textual.")
        and any(part.startswith("_") for part in (node.module or "").split("."))
    ]
    assert found == []
