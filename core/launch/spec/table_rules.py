"""Rules for the tables of a spec: arguments, model roles, options, metadata."""

import difflib
import re
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from core.config.rules import InvalidValue, UnknownKey
from core.launch.spec.eval_options import (
    option_kind,
    option_kinds,
    option_name,
    refused_options,
)
from core.launch.spec.rules import model
from core.launch.spec.validators import json_value, list_of, no_secret, table, within

_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}")


def arguments(value: object) -> Mapping[str, Any]:
    """Arguments of a task or a model: Python names, JSON values, no secrets."""
    out: dict[str, Any] = {}
    for key, each in table(value, "a table of arguments").items():
        if not key.isidentifier():
            raise InvalidValue("a valid Python name", (key,))
        out[key] = within(key, json_value, each)
    no_secret(out)
    return MappingProxyType(out)


def metadata(value: object) -> Mapping[str, Any]:
    """Metadata that `--metadata` can carry."""
    out: dict[str, Any] = {}
    for key, each in table(value, "a table").items():
        if not _ROLE.fullmatch(key):
            raise InvalidValue("a name of letters, digits and _, not starting with a digit", (key,))
        if isinstance(each, str) and "," in each:
            raise InvalidValue("text without commas: Inspect would split it into a list", (key,))
        out[key] = within(key, json_value, each)
    no_secret(out)
    return MappingProxyType(out)


def model_roles(value: object) -> Mapping[str, Any]:
    """Model roles: each a model string, a table with the key `model`, or a list of these."""
    out: dict[str, Any] = {}
    for role, each in table(value, 'a table like { grader = "openai/gpt-4o" }').items():
        if not _ROLE.fullmatch(role):
            raise InvalidValue(
                "a name of letters, digits and _, not starting with a digit", (role,)
            )
        if isinstance(each, list):
            out[role] = within(role, list_of(_role_model, "models"), cast("object", each))
        else:
            out[role] = within(role, _role_model, each)
    no_secret(out)
    return MappingProxyType(out)


def _role_model(value: object) -> Any:
    if not isinstance(value, dict):
        return model(value)
    held = cast("dict[str, object]", value)
    if "model" not in held:
        raise InvalidValue('a table with the key "model"')
    within("model", model, held["model"])
    return json_value(held)


def options(value: object) -> Mapping[str, Any]:
    """Options of `inspect eval-set` without a key of their own, by Inspect's names."""
    out: dict[str, Any] = {}
    for key, each in table(value, "a table of options").items():
        name = option_name(key)
        refused = refused_options()
        if name in refused:
            raise InvalidValue(f"any other option; {refused[name]}", (key,))
        if not _OPTION.fullmatch(name):
            raise InvalidValue("an option of `inspect eval-set`, like max_tokens", (key,))
        known = (*option_kinds(), *refused)
        if option_kind(name) is None and difflib.get_close_matches(name, known, 1, 0.8):
            raise UnknownKey(tuple(each.replace("-", "_") for each in known), (key,))
        held = within(key, json_value, each)
        if held is None or held in ("", ()):
            raise InvalidValue("a value that is not empty", (key,))
        within(key, partial(_fits, name), held)
        out[name] = held
    no_secret(out)
    return MappingProxyType(out)


def _fits(name: str, value: object) -> None:
    found = option_kind(name)
    kind = None if found is None else found[1]
    if kind == "flag" and value is not True:
        raise InvalidValue("true, or leave it out")
    if kind == "pair" and not isinstance(value, bool):
        raise InvalidValue("true or false")
    if kind == "value" and value is True:
        raise InvalidValue("a value, not true")
