"""Every promise of docs/security.md names tests that are there."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.tree import ROOT

PAGE = ROOT / "docs" / "security.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_PART = PAGE.read_text().partition("## The promises")[2].partition("## What is not")[0]
PROMISES = [line for line in _PART.splitlines() if line.startswith("- ")]
HELD = [(path, name) for line in PROMISES for path, name in TEST.findall(line)]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda line: line[2:50])
def test_a_promise_names_a_test(promise: str) -> None:
    assert TEST.search(promise)


@pytest.mark.parametrize(("path", "name"), HELD, ids=[name for _, name in HELD])
def test_a_named_test_is_there(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text())
    found = (each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    assert name in {each.name for each in found}


def test_every_case_of_an_attacker_holds_a_promise() -> None:
    """A case in `tests/hostile` that no promise names is a promise that the page lacks."""
    own = {
        "test_the_seeds_are_taken",
        "test_the_attacker_is_what_a_probe_is_to_the_desk",
        "test_a_fault_is_found_and_can_be_repeated",
        "test_only_root_makes_the_shared_folder",
        "test_any_list_is_read",
        "test_what_is_not_a_plain_file_does_not_count",
        "test_a_folder_full_of_files_is_refused_and_reported",
    }
    named = {name for _, name in HELD}
    cases: set[str] = set()
    for path in (ROOT / "tests" / "hostile").glob("test_*.py"):
        cases |= set(re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE))
    assert cases - named <= own


MAY_WRITE = {
    "cli/standard_files.py": "descriptors that are open already",
    "cli/commands/demo_eval.py": "a new folder of its own",
    "ssh/shipped/fetch/checkout.py": "a new private folder of its own",
    "ssh/shipped/fetch/task_data.py": "a new private folder of its own",
    "ssh/shipped/fetch/uv.py": "a new file beside the program, renamed when it is whole",
    "ssh/shipped/log_script/main.py": "a file of /proc",
}
"""Files that open a file for writing by its name alone, each with why nobody else gets there."""
_WRITERS = frozenset({"write_text", "write_bytes"})


def _opens_for_writing(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _WRITERS:
        return True
    if name != "open":
        return False
    modes = [each.value for each in call.args if isinstance(each, ast.Constant)]
    modes += [each.value.value for each in call.keywords if isinstance(each.value, ast.Constant)]
    return any(isinstance(mode, str) and re.fullmatch(r"[rwaxbt+]*[wax+][bt+]*", mode)
               for mode in modes)  # fmt: skip


SOURCES = [
    path
    for package in ("cli", "core", "ssh", "storage", "tui")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "tasks" not in path.parts
]


def _faults(path: Path) -> list[str]:
    name, tree = str(path.relative_to(ROOT)), ast.parse(path.read_text())
    inner = {id(side) for each in ast.walk(tree) if isinstance(each, ast.BinOp)
             for side in (each.left, each.right)}  # fmt: skip
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _opens_for_writing(node) and name not in MAY_WRITE:
            found.append(f"{name}:{node.lineno}")
        if isinstance(node, ast.BinOp) and id(node) not in inner:
            words = ast.unparse(node)
            is_safe = any(each in words for each in ("O_NOFOLLOW", "O_EXCL", "FLAGS"))
            if "O_CREAT" in words and not is_safe:
                found.append(f"{name}:{node.lineno}")
    return found


def test_a_file_is_written_by_a_descriptor_that_follows_no_link() -> None:
    """Each writer creates a new file, follows no link, or replaces the file as a whole."""
    assert [each for path in SOURCES for each in _faults(path)] == []
