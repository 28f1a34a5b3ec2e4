"""What the form remembers, from a file that is anything."""

from typing import Any

import pytest

from tests.support.rooms import MemoryStore
from tui.controllers.drafts import FormMemory

DRAFT = {"source": "smoke", "template": "smoke", "texts": {"task": "t"}}


@pytest.mark.parametrize("at", [10**400, float("inf"), float("nan"), "x", None, True, [1]])
def test_a_draft_that_was_left_at_no_time_is_old(at: Any) -> None:
    [draft] = FormMemory(MemoryStore({"drafts": [{**DRAFT, "at": at}]})).drafts
    assert draft.at == 0.0


@pytest.mark.parametrize("drafts", [7, [[]], [{"source": 1}], {"a": 1}])
def test_a_file_that_is_not_a_draft_is_ignored(drafts: Any) -> None:
    assert FormMemory(MemoryStore({"drafts": drafts, "on_error": [drafts]})).drafts == ()
