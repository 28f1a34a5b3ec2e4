"""What a plan needs of its machine, read from its spec alone."""

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
"""Where datasets and weights are fetched from."""
HF_TASK_PREFIX = "hf/"
"""How tasks begin that Inspect itself fetches from there."""
TOKENIZER_ADDRESS = "openaipublic.blob.core.windows.net:443"
"""Where the file comes from that the mock model's tokens are counted with."""
_SERVERS = frozenset({"vllm", "sglang"})
"""Packages that serve a model on the machine."""


def task_asked(plan: RunPlan) -> str | None:
    """Return the task as that machine's Inspect is asked for it.

    None: it comes with evalroom, or from Hugging Face when the run starts.
    """
    name = plan.spec.task[0]
    if name in BUILT_IN_TASKS or name.startswith(HF_TASK_PREFIX):
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
    return code.directory or f"{plan.directory}/{CODE_FOLDER}"


def has_own_code(spec: Spec) -> bool:
    """Whether the code of its task is fetched with the launch."""
    return spec.code is not None and spec.code.repository is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedModel:
    """A model that a spec asks for, itself or for a role.

    Attributes:
        name: Its model string.
        provider: What that asks for; None: it is none of Inspect's.
        has_url: Whether the spec names its server.
        has_key: Whether its arguments have a stand-in for a key.
    """

    name: str
    provider: Provider | None
    has_url: bool
    has_key: bool


def models_of(spec: Spec) -> tuple[RequestedModel, ...]:
    """Return the model and those of the roles, each once."""
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
    """Return the variables that nobody sets, each behind the model that needs it.

    Args:
        spec: Sets some, and gives some models what stands instead.
        login: The names of those that the login on the machine sets.
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
    """Return the names of all variables that its models' providers read."""
    return tuple(
        dict.fromkeys(
            name
            for asked in models_of(spec)
            for each in (() if asked.provider is None else asked.provider.variables)
            for name in (each.name, *each.instead)
        )
    )


def packages_of(spec: Spec, login: Collection[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return the packages that its models' providers need, each behind its model.

    Args:
        spec: Names models, and perhaps servers: those need no package that serves.
        login: The names of the variables that the login on the machine sets.
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
        spec: As `packages_of`.
        login: As `packages_of`.
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
    is_mock = any(each.name.startswith("mockllm/") for each in models_of(spec))
    return is_mock and spec.task[0] not in BUILT_IN_TASKS


def may_fetch_data(spec: Spec) -> bool:
    """Whether its task is one of a package, which usually fetches its dataset."""
    return spec.task[0] not in BUILT_IN_TASKS and task_file(spec.task[0]) is None


def hosts_of(spec: Spec) -> tuple[str, ...]:
    """Return what has to be reached, each `host:port`."""
    needs_hub = bool(weights_of(spec)) or may_fetch_data(spec)
    found = (
        server_of(spec),
        HUB_ADDRESS if needs_hub else None,
        TOKENIZER_ADDRESS if counts_with_tokenizer(spec) else None,
    )
    return tuple(each for each in found if each is not None)


def named_log_folder(plan: RunPlan) -> str | None:
    """Return the folder of its machine that the spec names for logs; None: the run's own."""
    folder = plan.log_dir
    return folder if folder.startswith(("/", "~/")) else None


def lock_folders(gpu_locks: str | None) -> tuple[str, ...]:
    """Return where GPUs may be reserved, the first that can be used counts."""
    return (SHARED_FOLDER, OWN_FOLDER) if gpu_locks is None else (gpu_locks,)
