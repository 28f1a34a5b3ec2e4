"""What a run needs on its machine, from its spec alone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from core.launch.plan.eval_set_args import CODE_FOLDER, task_word
from core.launch.plan.run_plan import RunPlan
from core.launch.plan.warnings import package_name
from core.launch.preflight.gpu_reservations import OWN_FOLDER, SHARED_FOLDER
from core.launch.spec.model_providers import Provider, Variable, missing_variables, provider_of
from core.launch.spec.rules import task_file
from core.launch.spec.spec import BUILT_IN_TASKS, Spec

HUB_ADDRESS = "huggingface.co:443"
"""The server of datasets and weights."""
HF_TASK_PREFIX = "hf/"
"""Prefix of tasks that Inspect downloads from Hugging Face."""
TOKENIZER_ADDRESS = "openaipublic.blob.core.windows.net:443"
"""The server of the tokenizer file with which the mock model counts tokens."""
_SERVERS = frozenset({"vllm", "sglang"})
"""Packages that serve a model on the machine."""


def task_asked(plan: RunPlan) -> str | None:
    """Return the task argument for the machine's Inspect.

    None: the task comes with evalroom, or is downloaded from Hugging Face at the start.
    """
    name = plan.spec.task[0]
    if name in BUILT_IN_TASKS or name.startswith(HF_TASK_PREFIX):
        return None
    word = task_word(plan.spec)
    if task_file(name) is None or word.startswith(("/", "~/")):
        return word
    return f"{plan.directory}/{word}"


def python_path_of(plan: RunPlan) -> str | None:
    """Return the folder with the modules of the run's code; None: it has no code."""
    code = plan.spec.code
    if code is None:
        return None
    return code.directory or f"{plan.directory}/{CODE_FOLDER}"


def has_own_code(spec: Spec) -> bool:
    """Whether the launch checks out the code of the task."""
    return spec.code is not None and spec.code.repository is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedModel:
    """A model of a spec, as the main model or for a role.

    Attributes:
        name: Its model string.
        provider: Its provider; None: Inspect has no such provider.
        has_url: Whether the spec gives the URL of its server.
        has_key: Whether its arguments hold a placeholder for the API key.
    """

    name: str
    provider: Provider | None
    has_url: bool
    has_key: bool


def models_of(spec: Spec) -> tuple[RequestedModel, ...]:
    """Return the main model and the models of the roles, each once."""
    main = _asked(spec.model[0], {**spec.model_args, "base_url": spec.base_url})
    roles = (each for role in spec.model_roles.values() for each in _models_in(role))
    return tuple({each.name: each for each in (*roles, main)}.values())


def _models_in(role: Any) -> Iterator[RequestedModel]:
    if isinstance(role, str):
        yield _asked(role, {})
    elif isinstance(role, Mapping):
        held = cast("Mapping[str, Any]", role)
        inner = held.get("args")
        given = dict(held)
        if isinstance(inner, Mapping):
            given.update(cast("Mapping[str, Any]", inner))
        yield _asked(str(held.get("model")), given)
    elif isinstance(role, list | tuple):
        for each in cast("Sequence[Any]", role):
            yield from _models_in(each)


def _asked(name: str, given: Mapping[str, Any]) -> RequestedModel:
    return RequestedModel(
        name=name,
        provider=provider_of(name),
        has_url=given.get("base_url") is not None or given.get("model_base_url") is not None,
        has_key=given.get("api_key") is not None,
    )


def unset_variables(spec: Spec, login: Collection[str]) -> tuple[tuple[str, Variable], ...]:
    """Return the needed variables that are not set, each with the model that needs it.

    Args:
        spec: The spec; it may set a variable, or give a model something in its place.
        login: Names of the variables that the login on the machine sets.
    """
    given = frozenset((*spec.env, *spec.secrets, *login))
    return tuple(
        (each.name, variable)
        for each in models_of(spec)
        for variable in (() if each.provider is None else missing_variables(each.provider, given))
        if not (each.has_key and variable.is_secret)
        and not (each.has_url and variable.name.endswith("_URL"))
    )


def variables_read(spec: Spec) -> tuple[str, ...]:
    """Return the names of all variables that the providers of its models read."""
    return tuple(
        dict.fromkeys(
            name
            for asked in models_of(spec)
            for each in (() if asked.provider is None else asked.provider.variables)
            for name in (each.name, *each.instead)
        )
    )


def packages_of(spec: Spec, login: Collection[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return the packages that the providers of its models need, each with its model.

    Args:
        spec: The spec; a model on a named server needs no package that serves it.
        login: Names of the variables that the login on the machine sets.
    """
    return tuple(
        (each.name, package)
        for each in models_of(spec)
        for package in (() if each.provider is None else each.provider.packages)
        if not (_is_served(spec, each, login) and package_name(package) in _SERVERS)
    )


def _is_served(spec: Spec, asked: RequestedModel, login: Collection[str]) -> bool:
    given = (*spec.env, *spec.secrets, *login)
    return asked.has_url or any(name.endswith("_BASE_URL") for name in given)


def weights_of(spec: Spec, login: Collection[str] = ()) -> tuple[str, ...]:
    """Return the models that the machine itself loads, by their names on Hugging Face.

    Args:
        spec: The spec; a model on a named server is not loaded.
        login: Names of the variables that the login on the machine sets.
    """
    loaded = (
        each.name.partition("/")[2]
        for each in models_of(spec)
        if each.provider is not None
        and each.provider.loads_weights
        and not _is_served(spec, each, login)
    )
    return tuple(name for name in loaded if name != "local")


def server_of(spec: Spec) -> str | None:
    """Return `host:port` of the model server in the spec; None: the spec names no server."""
    if spec.base_url is None:
        return None
    try:
        parts = urlsplit(spec.base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    return f"{parts.hostname}:{port}" if parts.hostname else None


def counts_with_tokenizer(spec: Spec) -> bool:
    """Whether the mock model may have to count tokens; built-in tasks report their own usage."""
    is_mock = any(each.name.startswith("mockllm/") for each in models_of(spec))
    return is_mock and spec.task[0] not in BUILT_IN_TASKS


def may_fetch_data(spec: Spec) -> bool:
    """Whether its task is from a package; such tasks usually download a dataset."""
    return spec.task[0] not in BUILT_IN_TASKS and task_file(spec.task[0]) is None


def hosts_of(spec: Spec) -> tuple[str, ...]:
    """Return the servers that must be reachable, each `host:port`."""
    needs_hub = bool(weights_of(spec)) or may_fetch_data(spec)
    found = (
        server_of(spec),
        HUB_ADDRESS if needs_hub else None,
        TOKENIZER_ADDRESS if counts_with_tokenizer(spec) else None,
    )
    return tuple(each for each in found if each is not None)


def named_log_folder(plan: RunPlan) -> str | None:
    """Return the log folder that the spec names on the machine; None: the run's own, or a URL."""
    folder = plan.log_dir
    return folder if folder.startswith(("/", "~/")) else None


def lock_folders(gpu_locks: str | None) -> tuple[str, ...]:
    """Return the folders of GPU reservations; the first usable one counts."""
    return (SHARED_FOLDER, OWN_FOLDER) if gpu_locks is None else (gpu_locks,)
