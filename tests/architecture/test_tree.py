"""The tree as a newcomer reads it."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ssh.shipped_program import shipped_program
from tests.support.tree import ROOT

PACKAGES = ("cli", "core", "ssh", "storage", "tui")
SOURCES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
SHIPPED = sorted((ROOT / "ssh" / "shipped").rglob("*.py"))
PROGRAMS = sorted(path.parent.name for path in SHIPPED if path.name == "main.py")


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20
    )
    return [ROOT / name for name in listed.stdout.splitlines()]


@pytest.mark.parametrize(
    "path",
    SOURCES,
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_a_file_is_one_idea_and_under_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: str(p.relative_to(ROOT / "ssh")))
def test_a_shipped_file_is_python_3_8_and_imports_its_program_and_the_common_part_alone(
    path: Path,
) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    program = path.relative_to(ROOT / "ssh" / "shipped").parts[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & set(PACKAGES)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            assert (node.module or "").split(".")[:2] == ["ssh", "shipped"]
            assert (node.module or "").split(".")[2] in {"common", program}
            assert node in tree.body, "the joined program leaves out imports at the top alone"
            assert not any(alias.asname for alias in node.names), "a name is the same everywhere"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_joined_program_is_python_3_8_of_the_standard_library_and_defines_a_name_once(
    name: str,
) -> None:
    text = shipped_program(name)
    tree = ast.parse(text, feature_version=(3, 8))
    compile(text, name, "exec")
    defined = [found for node in tree.body for found in _defined(node)]
    imported = [
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    assert [each for each, count in Counter(defined).items() if count > 1] == []
    assert not set(defined) & set(imported)
    assert b"ssh.shipped" not in text


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top defines; a name that += extends is not new."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [each.id for target in node.targets for each in ast.walk(target)
                if isinstance(each, ast.Name)]  # fmt: skip
    return []


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
