"""No two files of the code need each other, whichever way they import.

import-linter holds the direction between packages. This counts each import of each file: at the
top, inside a function, and for type checkers only.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.tree import ROOT

PACKAGES = ("cli", "core", "ssh", "storage", "tui")

Imports = Mapping[str, frozenset[str]]


def module_files() -> dict[str, Path]:
    found = dict[str, Path]()
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


def imported_names(file: Path) -> Iterator[str]:
    """Yield the full names of everything that a file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{file}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of(files: Mapping[str, Path]) -> Imports:
    """Return the modules of evalroom that each module imports."""
    found = dict[str, frozenset[str]]()
    for module, file in files.items():
        names = {
            name if name in files else name.rpartition(".")[0] for name in imported_names(file)
        }
        found[module] = frozenset(names & files.keys()) - {module}
    return found


def circles(imports: Imports) -> list[list[str]]:
    """Return the modules that reach each other, by Tarjan's algorithm."""
    index, low = dict[str, int](), dict[str, int]()
    stack, found = list[str](), list[list[str]]()

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(imports.get(module, ())):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            circle, stack[at:] = stack[at:], []
            if len(circle) > 1:
                found.append(sorted(circle))

    for module in imports:
        if module not in index:
            visit(module)
    return found


def test_no_files_are_in_a_circle_of_imports() -> None:
    files = module_files()
    imports = imports_of(files)
    assert len(files) > 300
    assert sum(map(len, imports.values())) > len(files)
    assert circles(imports) == []


def test_circles_are_found() -> None:
    def graph(**edges: str) -> Imports:
        return {module: frozenset(others) for module, others in edges.items()}

    assert circles(graph(a="b", b="c", c="")) == []
    assert circles(graph(a="b", b="ac", c="")) == [["a", "b"]]
    assert circles(graph(a="b", b="c", c="a", d="e", e="d")) == [["a", "b", "c"], ["d", "e"]]


def test_lazy_imports_and_those_for_type_checkers_count(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "import a.b\n"
        "if TYPE_CHECKING:\n    from c import d\n"
        "def f():\n    from e.f import g, h as i\n",
        encoding="utf-8",
    )
    assert set(imported_names(file)) == {"a.b", "c.d", "e.f.g", "e.f.h"}
