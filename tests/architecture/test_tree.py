"""The tree as a newcomer reads it."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.tree import ROOT

PACKAGES = ("cli", "core", "ssh", "storage", "tui")
SOURCES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
SHIPPED = sorted((ROOT / "ssh" / "shipped").rglob("*.py"))


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20
    )
    return [ROOT / name for name in listed.stdout.splitlines()]


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if p not in SHIPPED], ids=lambda p: str(p.relative_to(ROOT))
)
def test_a_file_is_one_idea_and_under_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.name)
def test_a_shipped_program_is_python_3_8_and_imports_nothing_of_ours(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    assert not names & set(PACKAGES)


def test_the_tree_names_no_path_and_no_host_of_one_machine() -> None:
    forbidden = re.compile(r"/(work|root|farm)/|/tmp/lab|pypi\.org|pythonhosted|registry\.npm")
    here = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in _tracked()
        if path.suffix in {".py", ".md", ".toml", ".tcss", ".sh", ""} and path != here
        if path.is_file()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if forbidden.search(line)
    ]
    assert found == []


def test_no_broad_except_outside_the_entry_point() -> None:
    broad = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        if path not in SHIPPED and path != ROOT / "cli" / "main.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
    ]
    assert broad == []
