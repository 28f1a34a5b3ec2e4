"""Every promise of docs/security.md names tests that are there."""

import ast
import re

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
    own = {"test_the_seeds_are_taken", "test_a_fault_is_found_and_can_be_repeated",
           "test_only_root_makes_the_shared_folder", "test_any_list_is_read",
           "test_what_is_not_a_plain_file_does_not_count",
           "test_a_folder_full_of_files_is_refused_and_said"}  # fmt: skip
    named = {name for _, name in HELD}
    cases: set[str] = set()
    for path in (ROOT / "tests" / "hostile").glob("test_*.py"):
        cases |= set(re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE))
    assert cases - named <= own
