"""Warnings about a run, from its spec alone."""

from core.launch.plan.matrix import RunRequest
from core.launch.plan.risks import risks_by_key
from core.launch.plan.sample_selection import sample_patterns
from core.launch.spec.eval_options import option_kind
from core.launch.spec.inspect_facts import inspect_version
from core.launch.spec.model_providers import missing_variables, provider_of
from core.launch.spec.spec import BUILT_IN_TASKS, Spec
from core.text import shown

_NAMED = 5
"""Patterns that a warning names."""


def warnings_of(
    request: RunRequest, *, python: str | None, is_surveyed: bool = False
) -> tuple[str, ...]:
    """Return warnings, each one sentence, harmless to show.

    Args:
        request: What the spec asks for.
        python: The interpreter that runs Inspect; None: uv installs Inspect.
        is_surveyed: Whether its machine was surveyed: leaves out what the survey answers.
    """
    found = warnings_by_key(request, python=python, is_surveyed=is_surveyed)
    return tuple(text for _, text in found)


def warnings_by_key(
    request: RunRequest, *, python: str | None, is_surveyed: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return the same warnings, each with the key of the spec that it concerns."""
    spec = request.spec
    found = [
        *risks_by_key(spec),
        ("task", _task(spec)),
        ("sample_ids", _sample_ids(spec)),
        ("retry_attempts", _errors(spec)),
        ("model", _provider(spec)),
        ("packages", _interpreter(spec, python)),
        ("options", _options(spec)),
        ("log_dir", _log_dir(request)),
        ("code", _code(spec)),
    ]
    if not is_surveyed:
        found += [
            ("machine", _machines(request)),
            ("model", _variables(spec)),
            ("packages", _packages(spec, python)),
            ("options", _unknown_options(spec)),
        ]
    return tuple((key, text) for key, sentences in found for text in sentences)


def _machines(request: RunRequest) -> list[str]:
    if len(request.candidates) == 1:
        return []
    names = ", ".join(request.candidates)
    return [f'"{shown(request.asked)}" stands for {names}; the launch chooses one of them']


def _errors(spec: Spec) -> list[str]:
    if spec.on_error == "stop" and spec.retry_attempts:
        return ['on_error is "stop", but retry_attempts retries a task that ended in error']
    return []


def _task(spec: Spec) -> list[str]:
    if spec.task[0] == "inspect_evals/cybench" and "CYBENCH_ACKNOWLEDGE_RISKS" not in spec.env:
        return ["Cybench starts Docker only if env sets CYBENCH_ACKNOWLEDGE_RISKS: read its risks"]
    return []


def _sample_ids(spec: Spec) -> list[str]:
    patterns = sample_patterns(spec.sample_ids)
    if not patterns:
        return []
    listed = ", ".join(shown(each, 60) for each in patterns[:_NAMED])
    more = f" and {len(patterns) - _NAMED} more" if len(patterns) > _NAMED else ""
    warning = (
        "Inspect takes these sample_ids for patterns, which select every sample that matches:"
        f" {listed}{more}; write [*], [?] and [[] for the characters themselves"
    )
    return [warning]


def _provider(spec: Spec) -> list[str]:
    name = spec.model[0]
    provider = provider_of(name)
    if provider is None:
        asked = shown(name.partition("/")[0])
        return [f"Inspect {inspect_version()} has no provider {asked}: a package must add it"]
    given = (*spec.env, *spec.secrets)
    has_server = spec.base_url is not None or any(each.endswith("_BASE_URL") for each in given)
    if provider.loads_weights and not spec.gpus and not has_server:
        return [f"{provider.name} runs the model on the machine, but gpus is 0"]
    return []


def _variables(spec: Spec) -> list[str]:
    name = spec.model[0]
    provider = provider_of(name)
    if provider is None:
        return []
    texts: list[str] = []
    given = frozenset((*spec.env, *spec.secrets))
    for each in missing_variables(provider, given):
        if each.name.endswith("_URL") and spec.base_url is not None:
            continue
        others = f" (or {', '.join(each.instead)})" if each.instead else ""
        where = "secrets" if each.is_secret else "env"
        texts.append(f"{shown(name)} needs {each.name}{others}: add it to {where}")
    if provider.name == "mockllm" and spec.task[0] not in BUILT_IN_TASKS:
        texts.append("the mock model counts tokens with a file that it may have to download")
    return texts


def _interpreter(spec: Spec, python: str | None) -> list[str]:
    is_given = spec.python is not None and spec.python.startswith(("/", "~/", "python"))
    if python is None and is_given:
        return ["uv runs the given interpreter without the packages installed for it"]
    return []


def _packages(spec: Spec, python: str | None) -> list[str]:
    if python is not None:
        return []
    texts: list[str] = []
    wanted = {package_name(each) for each in spec.packages}
    package = spec.task[0].partition("/")[0] if "@" not in spec.task[0] else ""
    if package and spec.task[0] not in BUILT_IN_TASKS and package_name(package) not in wanted:
        named = package.replace("_", "-")
        texts.append(f'the task comes from {named}: add packages = ["{named}"]')
    provider = provider_of(spec.model[0])
    lacks = (
        [] if provider is None else [p for p in provider.packages if package_name(p) not in wanted]
    )
    if lacks:
        named = ", ".join(f'"{each}"' for each in lacks)
        texts.append(f"{shown(spec.model[0])} needs packages = [{named}]")
    return texts


def package_name(package: str) -> str:
    """Return a requirement's normalized package name, without version and extras."""
    end = next((at for at, c in enumerate(package) if not (c.isalnum() or c in "._-")), None)
    return package[:end].lower().replace("_", "-").replace(".", "-")


def _options(spec: Spec) -> list[str]:
    if spec.options.get("traceback-locals"):
        return ["traceback_locals writes the values of variables into logs, including API keys"]
    return []


def _unknown_options(spec: Spec) -> list[str]:
    return [
        f"Inspect {inspect_version()} has no option {shown(name)}; a newer version may have it"
        for name in spec.options
        if option_kind(name) is None
    ]


def _log_dir(request: RunRequest) -> list[str]:
    if request.spec.log_dir is None or request.of == 1:
        return []
    return ["each run gets its own folder within log_dir"]


def _code(spec: Spec) -> list[str]:
    if spec.code is None or spec.code.repository is None or spec.code.ref is not None:
        return []
    return ["code has no ref: the run uses the newest commit of the default branch"]
