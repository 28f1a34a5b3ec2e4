"""Variables, networks and programs that a run needs and the machine lacks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.fleet import Fleet
from core.ids import MachineName
from core.launch.preflight.assessment import assess_machine
from core.launch.preflight.checks import CheckLevel
from core.launch.preflight.survey_facts import CacheFacts, SurveyFacts, TaskFacts
from core.model.machine import ToolState
from tests.support.specs import spec
from tests.support.surveys import (
    GIVEN,
    OWN,
    OWN_SPEC,
    WELL,
    failed,
    found,
    judged,
    of,
    texts,
    with_inspect,
    with_task_facts,
)

KEYED = (
    'task = "evalroom/smoke"\nmodel = "openai-api/acme/x"\nmachine = "local"\non_error = "stop"\n'
)


def keyed(more: str) -> Any:
    return spec(GIVEN + more, text=KEYED)


def test_a_variable_counts_wherever_it_is_set() -> None:
    sentences = texts(judged(keyed("")))
    assert [each.split(",")[0] for each in sentences] == [
        "stop variables: openai-api/acme/x needs ACME_API_KEY",
        "stop variables: openai-api/acme/x needs ACME_BASE_URL",
    ]
    assert sentences[0].endswith('; set secrets = ["ACME_API_KEY"]')
    both = ("ACME_API_KEY", "ACME_BASE_URL")
    checks = judged(keyed(""), replace(WELL, variables=found(both)))
    assert texts(checks) == []
    assert "ACME_API_KEY from the login" in texts(checks, CheckLevel.OK)[-1]
    given = keyed('secrets = { ACME_API_KEY = "work" }\nbase_url = "http://localhost:8000/v1"')
    assert texts(judged(given, secrets=("work",))) == []
    unknown = failed(ToolState.UNKNOWN)
    assert texts(judged(keyed(""), replace(WELL, variables=unknown)))[0].startswith("warning")
    stand_in = keyed('model_args = { api_key = "none" }\nbase_url = "http://localhost:8000/v1"')
    assert texts(judged(stand_in)) == []


def test_a_secret_that_is_not_stored_is_reported_by_its_name() -> None:
    [sentence] = texts(judged(spec(GIVEN + 'secrets = ["MINE"]')))
    assert sentence == (
        "stop secrets: the secret MINE is not stored; enter it with: evalroom secrets set MINE"
    )


def test_roles_need_their_variables_too() -> None:
    sentences = texts(judged(spec(GIVEN + 'model_roles = { grader = [{ model = "groq/x" }] }')))
    assert "groq/x needs GROQ_API_KEY" in sentences[0]


OFFLINE = CacheFacts(offline=("HF_HUB_OFFLINE",), hub="/h")


def test_a_server_that_is_there_needs_neither_package_nor_weights() -> None:
    facts = with_inspect(WELL, packages={"openai": "1", "vllm": None})
    asked = spec(GIVEN, text=of("evalroom/smoke", "vllm/org/m"))
    assert "lacks vllm, which vllm/org/m needs" in texts(judged(asked, facts))[0]
    there = replace(facts, variables=found(("VLLM_BASE_URL",)))
    assert texts(judged(asked, there)) == []
    named = spec(GIVEN + 'base_url = "http://h:1/v1"', text=of("evalroom/smoke", "vllm/org/m"))
    assert texts(judged(named, facts)) == []
    role = 'model_roles = { grader = { model = "openai-api/acme/x", base_url = "http://h/" } }'
    [sentence] = texts(judged(spec(GIVEN + role)))
    assert "ACME_API_KEY" in sentence


CUT_OFF = failed(ToolState.FAILED, "its name is not known there")


@pytest.mark.parametrize(
    ("text", "changes", "says"),
    [
        (OWN_SPEC, {"caches": found(CacheFacts()),
                    "hosts": {"openaipublic.blob.core.windows.net:443": CUT_OFF}},
         ("warning network: the mock model counts tokens with a file that is not cached, but"
         " openaipublic.blob.core.windows.net is not reachable: its name is not known there")),
        (OWN_SPEC.replace(OWN, "pkg/t"), {"hosts": {"huggingface.co:443": CUT_OFF}},
         "warning network: the dataset of pkg/t may need a download, but huggingface.co is"),
        (OWN_SPEC.replace(OWN, "pkg/t"),
         {"caches": found(replace(OFFLINE, datasets=2, tokenizer=True))},
         "warning network: HF_HUB_OFFLINE is set, so datasets come only from /h (2 datasets"),
        (OWN_SPEC.replace("mockllm/model", "hf/org/m"), {"hosts": {"huggingface.co:443": CUT_OFF}},
         "warning network: the weights of org/m are not in /home/alice/hub, but huggingface.co"),
        (OWN_SPEC.replace("mockllm/model", "hf/org/m"),
         {"caches": found(OFFLINE)},
         "stop network: the weights of org/m are not in /h, and HF_HUB_OFFLINE forbids the"),
        (OWN_SPEC.replace("mockllm/model", "vllm/m") + 'base_url = "http://localhost:8000/v1"\n',
         {"hosts": {"localhost:8000": failed(ToolState.FAILED, "Connection refused")}},
         ("warning network: the model's server localhost:8000 is not reachable from the machine:"
         " Connection refused; start it, or correct `base_url`")),
    ],
)  # fmt: skip
def test_without_a_network_the_needed_downloads_are_reported(
    text: str, changes: Mapping[str, Any], says: str
) -> None:
    facts = with_task_facts(replace(WELL, **changes), OWN, TaskFacts(state="ok"))
    facts = with_task_facts(facts, "pkg/t", TaskFacts(state="ok")) if "pkg/t" in text else facts
    sentences = texts(judged(spec(GIVEN, text=text), facts))
    assert any(each.startswith(says) for each in sentences), sentences


def test_the_program_of_an_engine_has_to_be_there() -> None:
    asked = spec(GIVEN + 'engine = "tmux"')
    assert texts(judged(asked)) == []
    [sentence] = texts(judged(asked, replace(WELL, programs={"tmux": failed(ToolState.ABSENT)})))
    assert sentence.startswith('stop tmux: engine = "tmux" needs tmux, which is not installed;')


def test_a_machine_without_a_plan_is_summed_up() -> None:
    here = MachineName("here")
    checks = assess_machine(WELL, Fleet(), here)
    assert [each.name for each in checks] == [
        "python", "Inspect", "uv", "Docker", "GPUs", "memory", "disk", "tmux",
    ]  # fmt: skip
    assert texts(checks) == []
    # What is missing matters only to runs that need it.
    nothing = SurveyFacts(docker=failed(ToolState.ABSENT), gpus=failed(ToolState.ABSENT))
    assert all(each.level is not CheckLevel.STOP for each in assess_machine(nothing, Fleet(), here))
