"""The `Attributes:` of a class's docstring are attributes that the class has."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.tree import ROOT

PACKAGES = ("cli", "core", "ssh", "storage", "tui")
_SECTION = re.compile(r"^( *)Attributes:\n((?:\1 +\S.*\n|\n)+)", re.MULTILINE)
_NAMES = re.compile(r"^(\w+(?:, \w+)*)(?: \([^)]*\))?:", re.MULTILINE)


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    yield file, node


def documented(docstring: str) -> Iterator[str]:
    """Yield the names in the `Attributes:` section of a clean docstring."""
    section = _SECTION.search(docstring + "\n")
    if section is None:
        return
    lines = section[2].splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    entries = "\n".join(line[indent:] for line in lines)
    for found in _NAMES.finditer(entries):
        yield from found[1].split(", ")


def own_attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yield the fields, properties and what methods set on `self`."""
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (each.id for each in targets if isinstance(each, ast.Name))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case _:
                pass
    for each in ast.walk(node):
        match each:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name
            case _:
                pass


def attributes(node: ast.ClassDef, known: Mapping[str, ast.ClassDef]) -> frozenset[str]:
    """Return a class's attributes with those of its bases in this tree."""
    found = set(own_attributes(node))
    for base in node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(name, ast.Name) and name.id in known and name.id != node.name:
            found |= attributes(known[name.id], known)
    return frozenset(found)


def test_every_documented_attribute_is_an_attribute_of_its_class() -> None:
    found = list(classes())
    known = {node.name: node for _, node in found}
    checked, wrong = 0, list[str]()
    for file, node in found:
        has = attributes(node, known)
        for name in documented(ast.get_docstring(node) or ""):
            checked += 1
            if name not in has:
                wrong.append(f"{file.relative_to(ROOT)}: {node.name}.{name}")
    assert wrong == []
    assert checked > 500


def test_the_names_of_a_section_are_read() -> None:
    docstring = """A thing.

Attributes:
    first: What it is: a word.
    second, third: Two of
        them: with more lines.

Raises:
    fourth: Not an attribute.
"""
    assert list(documented(docstring)) == ["first", "second", "third"]
