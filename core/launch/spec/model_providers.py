"""What a model string needs on its machine: the provider's variables and packages."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from core.launch.spec.inspect_facts import inspect_facts

_SERVICE = "{SERVICE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An environment variable that a provider reads.

    Attributes:
        is_secret: Whether its value is a key, a token or a password.
        is_needed: Whether nothing runs without it or one of `instead`.
        instead: Variables that the provider accepts in place of it.
    """

    name: str
    is_secret: bool = False
    is_needed: bool = False
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A model provider of Inspect.

    Attributes:
        name: The model string up to its first slash.
        variables: The variables that it reads, the needed ones first.
        packages: The packages that Inspect needs for it, as pip names them.
        loads_weights: Whether it loads the model's weights on the machine.
    """

    name: str
    variables: tuple[Variable, ...] = ()
    packages: tuple[str, ...] = ()
    loads_weights: bool = False


def provider_names() -> tuple[str, ...]:
    """Return the name of every provider of Inspect."""
    return tuple(name for name in inspect_facts()["providers"] if "/" not in name)


def provider_of(model: str) -> Provider | None:
    """Return the provider of a model string; None: Inspect has no such provider."""
    name, *rest = model.split("/")
    service = rest[0] if rest else ""
    has_service = len(rest) > 1 and f"{name}/{service}" in inspect_facts()["providers"]
    provider = _provider(f"{name}/{service}" if has_service else name)
    if provider is None:
        return None
    prefix = service.upper().replace("-", "_")
    return replace(
        provider,
        variables=tuple(
            replace(each, name=each.name.replace(_SERVICE, prefix)) for each in provider.variables
        ),
    )


@cache
def _provider(key: str) -> Provider | None:
    row: dict[str, Any] | None = inspect_facts()["providers"].get(key)
    if row is None:
        return None
    return Provider(
        name=key.partition("/")[0],
        variables=tuple(
            Variable(
                name=each["name"],
                is_secret=each.get("secret", False),
                is_needed=each.get("needed", False),
                instead=tuple(each.get("instead", ())),
            )
            for each in row["variables"]
        ),
        packages=tuple(row["packages"]),
        loads_weights=row.get("loads_weights", False),
    )


def missing_variables(provider: Provider, given: frozenset[str]) -> tuple[Variable, ...]:
    """Return the needed variables that `given` holds neither itself nor in a substitute."""
    return tuple(
        each
        for each in provider.variables
        if each.is_needed and given.isdisjoint((each.name, *each.instead))
    )
