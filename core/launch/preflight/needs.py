"""What a plan needs of its machine, read from its spec alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from core.launch.flags import CODE, task_word
from core.launch.gpus import OWN, SHARED
from core.launch.models import Provider, Variable, missing, provider_of
from core.launch.plan import RunPlan
from core.launch.spec import BUILT_IN, Spec
from core.launch.spec_rules import task_file
from core.launch.warn import bare

HUB = "huggingface.co:443"
"""Where datasets and weights are fetched from."""
FETCHED = "hf/"
"""How tasks begin that Inspect itself fetches from there."""
TOKENIZER_HOST = "openaipublic.blob.core.windows.net:443"
"""Where the file comes from that the mock model's tokens are counted with."""
_LOADED_HERE = frozenset({"hf", "vllm", "vllm-completions", "sglang", "transformer_lens", "nnterp"})
"""Providers that load weights by their names on Hugging Face."""


def interpreter_of(plan: RunPlan) -> tuple[str, ...]:
    """Return the words that run the plan's Python: with uv, as far as its cache goes."""
    if plan.python is not None:
        return (plan.python,)
    words = plan.command[: plan.command.index("eval-set") - 1]
    offline = () if "--offline" in words else ("--offline",)
    return (*words[:3], *offline, *words[3:], "python")


def task_asked(plan: RunPlan) -> str | None:
    """Return the task as that machine's Inspect is asked for it.

    None: it comes with evalroom, or from Hugging Face when the run starts.
    """
    name = plan.spec.task[0]
    if name in BUILT_IN or name.startswith(FETCHED):
        return None
    word = task_word(plan.spec)
    if task_file(name) is None or word.startswith(("/", "~/")):
        return word
    return f"{plan.directory}/{word}"


def python_path_of(plan: RunPlan) -> str | None:
    """Return the folder whose modules are the run's; None: there is none."""
    code = plan.spec.code
    if code is None:
        return None
    return code.directory or f"{plan.directory}/{CODE}"


def has_own_code(spec: Spec) -> bool:
    """Whether the code of its task is fetched with the launch."""
    return spec.code is not None and spec.code.repository is not None


def models_of(spec: Spec) -> tuple[str, ...]:
    """Return the model and those of the roles."""
    named = (name for role in spec.model_roles.values() for name in _models_in(role))
    return tuple(dict.fromkeys((spec.model[0], *named)))


def _models_in(role: Any) -> Iterator[str]:
    if isinstance(role, str):
        yield role
    elif isinstance(role, Mapping):
        yield from _models_in(cast("Mapping[str, Any]", role).get("model"))
    elif isinstance(role, list | tuple):
        for each in cast("Sequence[Any]", role):
            yield from _models_in(each)


def providers_of(spec: Spec) -> tuple[tuple[str, Provider], ...]:
    """Return each model with its provider; those that are none of Inspect's are left out."""
    found = ((name, provider_of(name)) for name in models_of(spec))
    return tuple((name, provider) for name, provider in found if provider is not None)


def lacking(
    spec: Spec, model: str, provider: Provider, given: frozenset[str]
) -> tuple[Variable, ...]:
    """Return the variables that a model needs and that neither `given` nor its arguments have."""
    is_main = model == spec.model[0]
    has_key = is_main and "api_key" in spec.model_args
    has_url = is_main and spec.base_url is not None
    return tuple(
        each
        for each in missing(provider, given)
        if not (has_key and each.is_secret) and not (has_url and each.name.endswith("_URL"))
    )


def variables_read(spec: Spec) -> tuple[str, ...]:
    """Return the names of all variables that its models' providers read."""
    return tuple(
        dict.fromkeys(
            name
            for _, provider in providers_of(spec)
            for each in provider.variables
            for name in (each.name, *each.instead)
        )
    )


def packages_read(spec: Spec) -> tuple[str, ...]:
    """Return the packages that its models' providers need, by their bare names."""
    wanted = (name for _, provider in providers_of(spec) for name in provider.packages)
    return tuple(dict.fromkeys(bare(name) for name in wanted))


def weights_of(spec: Spec) -> tuple[str, ...]:
    """Return the models that the machine itself loads, by their names on Hugging Face."""
    given = (*spec.env, *spec.secrets)
    if spec.base_url is not None or any(name.endswith("_BASE_URL") for name in given):
        return ()
    found = (name.partition("/") for name in models_of(spec))
    return tuple(rest for name, _, rest in found if name in _LOADED_HERE and rest != "local")


def server_of(spec: Spec) -> str | None:
    """Return `host:port` of the model server that the spec names; None: it names none."""
    if spec.base_url is None:
        return None
    try:
        parts = urlsplit(spec.base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    return f"{parts.hostname}:{port}" if parts.hostname else None


def counts_with_tokenizer(spec: Spec) -> bool:
    """Whether the mock model may have to count tokens: those of the built-in tasks tell theirs."""
    is_mock = any(provider.name == "mockllm" for _, provider in providers_of(spec))
    return is_mock and spec.task[0] not in BUILT_IN


def may_fetch_data(spec: Spec) -> bool:
    """Whether its task is one of a package, which usually fetches its dataset."""
    return spec.task[0] not in BUILT_IN and task_file(spec.task[0]) is None


def hosts_of(spec: Spec) -> tuple[str, ...]:
    """Return what has to be reached, each `host:port`."""
    needs_hub = bool(weights_of(spec)) or may_fetch_data(spec)
    found = (
        server_of(spec),
        HUB if needs_hub else None,
        TOKENIZER_HOST if counts_with_tokenizer(spec) else None,
    )
    return tuple(each for each in found if each is not None)


def named_log_folder(plan: RunPlan) -> str | None:
    """Return the folder of its machine that the spec names for logs; None: the run's own."""
    folder = plan.log_dir
    return folder if folder.startswith(("/", "~/")) else None


def lock_folders(gpu_locks: str | None) -> tuple[str, ...]:
    """Return where GPUs may be reserved, the first that can be used counts."""
    return (SHARED, OWN) if gpu_locks is None else (gpu_locks,)
