"""One word for one state: the page of words names every state, and no text has another word."""

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest

from core.model.action import OFFERS
from core.model.machine import LinkState
from core.model.order import OrderState
from core.model.process import ProcessState
from core.model.run import RunState
from core.model.sample import SampleCounts, SampleStatus, word_of_status
from core.model.task import TaskState
from tests.support.tree import ROOT

PAGE = ROOT / "docs" / "words.md"
OTHER_WORDS = re.compile(
    r"\b(end(s|ed)? (it |them )?and score|end as error|failed samples?|samples? (that )?failed"
    r"|a sample fails|pending samples?|failed tasks?)\b",
    re.IGNORECASE,
)


def _words(heading: str) -> set[str]:
    section = PAGE.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


@pytest.mark.parametrize(
    ("heading", "states"),
    [
        ("Tasks and runs", [TaskState, RunState]),
        ("Processes", [ProcessState]),
        ("Links", [LinkState]),
        ("Orders", [OrderState]),
    ],
    ids=str,
)
def test_the_page_of_words_names_every_state(heading: str, states: list[type[StrEnum]]) -> None:
    assert _words(heading) == {str(state) for each in states for state in each}


def test_the_page_of_words_names_every_status_of_a_sample() -> None:
    statuses = {word_of_status(status) for status in SampleStatus}
    assert _words("Samples") == statuses | {"abandoned"}


def test_all_samples_that_have_not_started_are_counted_as_queued() -> None:
    assert word_of_status("pending") == word_of_status("queued") == "queued"
    assert SampleCounts(pending=3, queued=2).not_started == 5


def test_a_button_says_what_its_command_says() -> None:
    cancels = {(each.name, each.word) for each in OFFERS if each.name.startswith("cancel")}
    assert cancels == {
        ("cancel", "cancel"),
        ("cancel-score", "cancel and score"),
        ("cancel-error", "cancel as error"),
        ("cancel-call", "cancel tool call"),
    }


def _texts(path: Path) -> Iterator[str]:
    if path.suffix == ".md":
        yield path.read_text()
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_text_has_another_word_for_a_state() -> None:
    files = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    for package in ("cli", "core", "ssh", "storage", "tui"):
        files += (ROOT / package).rglob("*.py")
    wrong = [
        f"{path.relative_to(ROOT)}: {found.group()}"
        for path in files
        for text in _texts(path)
        for found in OTHER_WORDS.finditer(text)
    ]
    assert wrong == []
