"""The variables that the models of a spec read, and which key of the spec sets each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from core.launch.spec.model_providers import Variable, provider_of
from core.text import Shown, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVariable:
    """A variable that a model reads, and what sets it.

    Attributes:
        variable: The variable.
        given: The key of the spec that sets it or a substitute; None: no key does.
        secret: Name of the secret that it gets; None: it gets none.
        model: The first model that reads it.
    """

    variable: Variable
    given: str | None
    secret: str | None
    model: Shown


def model_variables(table: Mapping[str, Any]) -> tuple[ModelVariable, ...]:
    """Return the variables that the models of a spec's table read, each once."""
    env, secrets = names_in(table, "env"), names_in(table, "secrets")
    out: dict[str, ModelVariable] = {}
    for model in named_models(table):
        provider = provider_of(model)
        for each in provider.variables if provider is not None else ():
            names = (each.name, *each.instead)
            secret = next((secrets[name] for name in names if name in secrets), None)
            given = "secrets" if secret is not None else None
            if given is None and any(name in env for name in names):
                given = "env"
            if given is None and each.name.endswith("_URL") and "base_url" in table:
                given = "base_url"
            read = ModelVariable(variable=each, given=given, secret=secret, model=shown(model))
            out.setdefault(each.name, read)
    return tuple(out.values())


def named_models(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the models of a spec's table."""
    models: object = table.get("model")
    named = cast("list[object]", models) if isinstance(models, list) else [models]
    return tuple(each for each in named if isinstance(each, str))


def names_in(table: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return the values of `env` or `secrets` in a spec's table, by variable."""
    held: object = table.get(key)
    if not isinstance(held, dict):
        return {}
    return {name: str(each) for name, each in cast("dict[str, object]", held).items()}
