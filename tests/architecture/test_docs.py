"""Files and names in the documents exist."""

import re
from itertools import chain

import pytest

from tests.support.tree import ROOT

DOCUMENTS = sorted(chain(ROOT.glob("*.md"), (ROOT / "docs").rglob("*.md")))
PATH = re.compile(r"`((?:cli|core|ssh|storage|tui|tests|docs|scripts)(?:/[\w.-]+)+)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_names_only_files_that_are_there(document: object) -> None:
    text = (ROOT / str(document)).read_text()
    paths = [ROOT / name for name in PATH.findall(text)]
    linked = [(ROOT / str(document)).parent / name for name in LINK.findall(text)]
    assert [str(path) for path in (*paths, *linked) if not path.exists()] == []


def test_the_map_of_the_code_names_files() -> None:
    assert len(PATH.findall((ROOT / "ARCHITECTURE.md").read_text())) > 30
