"""Whatever a machine answers, it is judged, and harmless to show."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.fleet import Fleet
from core.ids import MachineName
from core.launch.preflight.assessment import assess_machine
from core.launch.preflight.survey_facts import parse_survey
from tests.support.specs import spec
from tests.support.surveys import (
    GIVEN,
    OWN_SPEC,
    judged,
    texts,
)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)
PARTS = (
    "machine", "inspect", "uv", "docker", "gpus", "reservations", "running", "caches", "variables",
    "places", "logs", "runs", "programs", "hosts",
)  # fmt: skip
part = st.fixed_dictionaries({"state": st.sampled_from(["ok", "failed", 5]), "value": anything})


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(PARTS), part | anything, max_size=len(PARTS)))
def test_an_answer_of_any_kind_is_judged(answer: Mapping[str, Any]) -> None:
    facts = parse_survey(answer)
    checks = judged(
        spec(GIVEN + 'gpus = 1\nengine = "tmux"\nlog_dir = "/data/logs"', text=OWN_SPEC), facts
    )
    assert all(each.message.isprintable() and each.advice.isprintable() for each in checks)
    assess_machine(facts, Fleet(), MachineName("here"))


def test_text_of_a_host_is_harmless_in_a_check() -> None:
    answer = {"inspect": {"state": "failed", "error": "\x1b[2J\u202eboom\x07"}}
    text = " ".join(texts(judged(spec(GIVEN), parse_survey(answer))))
    assert "boom" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
