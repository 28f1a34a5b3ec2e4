"""The variables that the models of a spec read, and where the spec gives each, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from core.launch.spec.model_providers import Variable, provider_of
from core.text import Shown, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVariable:
    """A variable that the model reads, and where the spec gives it.

    Attributes:
        given: The key of the spec that gives it, or one that serves as well; None: none does.
        secret: The name of the secret that it is given; None: it is none.
        model: The first model that reads it.
    """

    variable: Variable
    given: str | None
    secret: str | None
    model: Shown


def model_variables(table: Mapping[str, Any]) -> tuple[ModelVariable, ...]:
    """Return the variables that the models of a table read, each once."""
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
    """Return the models of a table, one or many."""
    models: object = table.get("model")
    named = cast("list[object]", models) if isinstance(models, list) else [models]
    return tuple(each for each in named if isinstance(each, str))


def names_in(table: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return what `env` or `secrets` of a table holds, by variable."""
    held: object = table.get(key)
    if not isinstance(held, dict):
        return {}
    return {name: str(each) for name, each in cast("dict[str, object]", held).items()}
