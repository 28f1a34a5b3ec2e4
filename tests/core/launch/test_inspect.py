"""Facts about Inspect that are written down here, held against the installed one."""

import re
from importlib.metadata import requires
from pathlib import Path

import click
import inspect_ai
import pytest
from inspect_ai._cli.eval import eval_set_command

from core.launch.spec.eval_options import OptionKind, option_kinds, refused_options
from core.launch.spec.inspect_facts import inspect_version
from core.launch.spec.model_providers import missing_variables, provider_names, provider_of

SOURCES = Path(inspect_ai.__file__).parent / "model" / "_providers"


def _options() -> dict[str, OptionKind]:
    found: dict[str, OptionKind] = {}
    for option in eval_set_command.params:
        if not isinstance(option, click.Option):
            continue
        kind: OptionKind = "value"
        if option.multiple:
            kind = "many"
        elif option.is_flag:
            kind = "pair" if option.secondary_opts else "flag"
        elif getattr(option, "_flag_needs_value", False) and option.flag_value is not None:
            kind = "optional" if isinstance(option.flag_value, str | float) else "value"
        name = max(option.opts, key=len).lstrip("-")
        found[name] = kind
    return found


def test_the_facts_are_of_the_version_that_evalroom_needs() -> None:
    needed = next(each for each in requires("evalroom") or () if each.startswith("inspect-ai"))
    assert f">={inspect_version()}" in needed


def test_every_option_of_eval_set_is_a_key_or_an_option() -> None:
    options = _options()
    own = {name for name in options if name in refused_options()}
    assert {name: kind for name, kind in options.items() if name not in own} == dict(option_kinds())


def test_each_key_stands_for_an_existing_option() -> None:
    twins = {"no-detach", "help"}
    assert set(refused_options()) - twins <= set(_options())


def test_every_provider_is_known() -> None:
    source = (SOURCES / "providers.py").read_text()
    registered = set(re.findall(r'@modelapi\(name="([^"]+)"\)', source))
    assert registered <= set(provider_names())
    assert set(provider_names()) - registered <= {"goodfire"}


@pytest.mark.parametrize("name", [each for each in provider_names() if each != "goodfire"])
def test_the_source_of_a_provider_names_its_variables(name: str) -> None:
    everything = "\n".join(
        file.read_text() for file in (*SOURCES.glob("*.py"), *SOURCES.glob("util/*.py"))
    )
    provider = provider_of(f"{name}/acme/x")
    assert provider is not None
    for each in provider.variables:
        # Those of services are made there, of the service's name.
        service = each.name.removesuffix("_API_KEY").removesuffix("_BASE_URL")
        is_made = f'service="{service}"'.lower() in everything.lower().replace(" ", "_")
        is_aws = service.startswith("AWS_")
        assert each.name in everything or is_made or is_aws or service == "ACME", each


@pytest.mark.parametrize(
    ("model", "needed"),
    [
        ("openai-api/acme/x", ["ACME_API_KEY", "ACME_BASE_URL"]),
        ("openai-api/my-lab/x/y", ["MY_LAB_API_KEY", "MY_LAB_BASE_URL"]),
        ("openai/gpt-4o", ["OPENAI_API_KEY"]),
        ("anthropic/claude", ["ANTHROPIC_API_KEY"]),
        ("google/gemini", ["GOOGLE_API_KEY"]),
        ("mistral/x", ["MISTRAL_API_KEY"]),
        ("groq/x", ["GROQ_API_KEY"]),
        ("together/x", ["TOGETHER_API_KEY"]),
        ("grok/x", ["XAI_API_KEY"]),
        ("deepseek/x", ["DEEPSEEK_API_KEY"]),
        ("openrouter/a/b", ["OPENROUTER_API_KEY"]),
        ("perplexity/x", ["PERPLEXITY_API_KEY"]),
        ("cloudflare/x", ["CLOUDFLARE_API_KEY", "CLOUDFLARE_ACCOUNT_ID"]),
        ("openai/azure/x", ["AZUREAI_OPENAI_BASE_URL"]),
        ("vllm/x", []),
        ("ollama/x", []),
        ("hf/x", []),
        ("mockllm/model", []),
        ("none", []),
    ],
)
def test_what_a_model_needs(model: str, needed: list[str]) -> None:
    provider = provider_of(model)
    assert provider is not None
    assert [each.name for each in missing_variables(provider, frozenset())] == needed
    assert not missing_variables(provider, frozenset(each.name for each in provider.variables))


def test_another_variable_may_be_set_instead() -> None:
    provider = provider_of("google/gemini")
    assert provider is not None
    assert not missing_variables(provider, frozenset(["GEMINI_API_KEY"]))


def test_a_provider_of_some_package_is_not_known() -> None:
    assert provider_of("mine/x") is None
