"""A short run of each fuzzer; `make fuzz` runs each for ten minutes."""

import pytest

from tests.hostile.fuzz import Found, fuzz
from tests.hostile.fuzz_probe import Fuzzed
from tests.hostile.fuzz_targets import targets

TRIES = 400


@pytest.mark.parametrize("name", list(targets()))
def test_no_bytes_raise_what_is_not_a_refusal(name: str) -> None:
    assert fuzz(targets()[name], 20261130, tries=TRIES) == TRIES


@pytest.mark.parametrize("name", list(targets()))
def test_the_seeds_are_taken(name: str) -> None:
    """A seed that is refused at its first byte would show nothing."""
    fuzzed = targets()[name]
    for seed in fuzzed.seeds:
        fuzzed.target(seed)


def test_a_fault_is_found_and_can_be_repeated() -> None:
    def broken(data: bytes) -> None:
        if b"null" in data:
            raise KeyError("null")

    with pytest.raises(Found, match=r"seed 7, try \d+") as first:
        fuzz(Fuzzed(broken, [b"[1]"]), 7, tries=10_000)
    with pytest.raises(Found) as again:
        fuzz(Fuzzed(broken, [b"[1]"]), 7, tries=10_000)
    assert str(first.value).splitlines()[0] == str(again.value).splitlines()[0]
