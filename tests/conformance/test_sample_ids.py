"""The samples that `sample_ids` select, held against the installed Inspect."""

import fnmatch
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai._eval.task.util import sample_id_filter, slice_dataset
from inspect_ai.dataset import MemoryDataset, Sample

from core.launch.plan.sample_selection import sample_patterns, selected_samples

HAS: Sequence[str | int] = ("a", "a1", "a2", "arr[0]", "arr0", "b*", "[", 7, "q/1")


@pytest.mark.parametrize(
    ("ids", "patterns", "most"),
    [
        (["a", "b*"], ["b*"], None),
        (["a?"], ["a?"], None),
        (["arr[0]"], ["arr[0]"], None),
        (["[", "q/1"], [], 2),
        (["7", 7, "007"], [], 1),
        (["a", "a", "a1"], [], 2),
    ],
)
def test_patterns_differ_from_ids_and_equal_ids_count_once(
    ids: list[str | int], patterns: list[str], most: int | None
) -> None:
    assert list(sample_patterns(ids)) == patterns
    assert selected_samples(ids, None) == most
    selected = slice_dataset(MemoryDataset([Sample(input="x", id=each) for each in HAS]), None, ids)
    assert len(selected) <= (len(HAS) if most is None else most)
    assert selected_samples(ids, len(HAS)) == (len(HAS) if most is None else most)
    if most is not None:
        assert len(selected) == most


@given(st.text("ab[]!*?-", max_size=6))
def test_an_id_is_a_pattern_exactly_where_inspect_reads_more_than_characters(text: str) -> None:
    literal = fnmatch.translate("a").replace("a", re.escape(text))
    assert bool(sample_patterns([text])) is (fnmatch.translate(text) != literal)
    assert sample_patterns([text]) or sample_id_filter([text]).matches(text)
