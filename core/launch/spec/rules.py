"""Rules for the keys of a spec: each returns the checked value or raises `InvalidValue`."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from core.config.rules import InvalidValue, Rule, UnknownKey, flag, number, one_of, text, whole
from core.launch.engines.registry import ENGINES
from core.launch.spec.secret_patterns import holds_secret, is_secret
from core.launch.spec.spec import BUILT_IN_TASKS, Code, OnError, Tolerate
from core.launch.spec.validators import is_text, list_of, table, text_without_nul, within

MAX_COUNT = 1_000_000_000
_LEAST_ERRORS = 2

_TASK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)+")
_TASK_FILE = re.compile(r"(?P<path>[^\0\n\r]*[^/\0\n\r]\.(?:py|ipynb))@(?P<name>[^@\0\n\r\s]+)")
_MODEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*/[!-+.-~-]{1,500}|none")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){1,3}(?:(?:a|b|rc|\.dev|\.post)[0-9]+)?")
_PYTHON_VERSION = re.compile(r"3\.[0-9]{1,2}(?:\.[0-9]{1,2})?")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._ -]+\])?[^\0\n\r]*")
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_TOKENS = re.compile(r"[0-9a-z().*+:\s]+")
_PLACE = re.compile(r"[a-z][a-z0-9+]*://[!-~]+")
_REFERENCE = re.compile(r"[A-Za-z0-9_][!-~]{0,254}")
_REPOSITORY = re.compile(
    r"(?:https?|ssh|git|file)://[!-~]+|[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[!-~]+|/[^\0\n\r]*|~/[^\0\n\r]*"
)
_OWN_VARIABLES = ("EVALROOM_RUN", "XDG_DATA_HOME")


def task(value: object) -> str:
    """A built-in task, a task of a package, or a task in a file."""
    allowed = (
        '"package/name" like "inspect_evals/gpqa_diamond", "evalroom/smoke",'
        ' "evalroom/arithmetic", or "path/to/file.py@name"'
    )
    if not isinstance(value, str) or not is_text(value) or value.startswith("-"):
        raise InvalidValue(allowed)
    if value.startswith(("evalroom/", "simulusion/")) and "@" not in value:
        if value in BUILT_IN_TASKS:
            return value
        raise InvalidValue(
            " or ".join(f'"{each}"' for each in sorted(set(BUILT_IN_TASKS.values())))
        )
    if value.endswith((".py", ".ipynb")):
        raise InvalidValue(
            '"path/to/file.py@name", with the name of its @task; the file is found in `code`'
        )
    is_name = _TASK_NAME.fullmatch(value)
    if value.isprintable() and (is_name or _TASK_FILE.fullmatch(value)):
        return value
    raise InvalidValue(allowed)


def model(value: object) -> str:
    """A model string: a provider, a slash, a name; no comma."""
    if isinstance(value, str) and _MODEL.fullmatch(value):
        return value
    raise InvalidValue('"provider/name", like "openai/gpt-4o" or "mockllm/model"')


def on_error(value: object) -> OnError:
    """`stop`, `continue`, or a threshold to tolerate."""
    if value == "stop":
        return "stop"
    if value == "continue":
        return "continue"
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        for key in table:
            if key != "tolerate":
                raise UnknownKey(("tolerate",), (key,))
        if "tolerate" in table:
            return Tolerate(_threshold(table["tolerate"]))
    raise InvalidValue('"stop", "continue" or { tolerate = 0.1 }')


def _threshold(value: object) -> float | int:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if 0 < value < 1:
            return float(value)
        if _LEAST_ERRORS <= value <= MAX_COUNT and value == int(value):
            return int(value)
    raise InvalidValue(
        "a fraction of the samples above 0 and below 1, or a whole number of errors from 2"
        ' (with 1 the first error fails the task: write "stop" or "continue")',
        ("tolerate",),
    )


def limit(value: object) -> int | tuple[int, int]:
    """A number of samples, or a range of them."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_COUNT:
        return value
    ends: list[object] = []
    if isinstance(value, str) and (found := _RANGE.fullmatch(value)):
        ends = [int(found[1]), int(found[2])]
    elif isinstance(value, list):
        ends = cast("list[object]", value)
    whole_number = whole(1, MAX_COUNT)
    if len(ends) == 2:  # noqa: PLR2004 - from and to
        try:
            first, last = (whole_number(each) for each in ends)
        except InvalidValue:
            first, last = 1, 0
        if first <= last:
            return first, last
    raise InvalidValue('a whole number from 1, or a range like "10-20"')


def sample_id(value: object) -> str | int:
    """A sample id that `--sample-id` can carry."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value and value == value.strip() and "," not in value:
        return text_without_nul(value)
    raise InvalidValue("a whole number, or text without commas or surrounding spaces")


def token_limit(value: object) -> int | str:
    """Tokens for each sample."""
    if isinstance(value, str) and _TOKENS.fullmatch(value) and any(c.isdigit() for c in value):
        return value
    try:
        return whole(1, MAX_COUNT * 1000)(value)
    except InvalidValue:
        allowed = 'a whole number from 1, or text that Inspect knows, like "500k" or "output:1m"'
        raise InvalidValue(allowed) from None


def tag(value: object) -> str:
    """A tag that `--tags` can carry."""
    if isinstance(value, str) and value and value == value.strip() and "," not in value:
        return _without_secret(text(value))
    raise InvalidValue("one line of text without commas or surrounding spaces")


def variables(value: object) -> Mapping[str, str]:
    """Plain variables by name."""
    out: dict[str, str] = {}
    for key, each in table(value, "a table of variables").items():
        name = within(key, variable, key)
        if isinstance(each, bool):
            raise InvalidValue('text, like "1" or "true"', (key,))
        plain = str(each) if isinstance(each, int) else each
        out[name] = within(key, text_without_nul, plain)
        if is_secret(key, plain):
            raise InvalidValue(
                f'values that are not secrets: write secrets = ["{key}"] instead; a placeholder'
                ' of up to 8 characters, like "none", is allowed',
                (key,),
            )
    return MappingProxyType(out)


def variable(value: object) -> str:
    """The name of a variable that evalroom does not set itself."""
    if value == "HOME":
        raise InvalidValue("any variable but HOME: the paths of a run depend on it")
    if isinstance(value, str) and value in _OWN_VARIABLES:
        raise InvalidValue(f"any variable but {' and '.join(_OWN_VARIABLES)}: evalroom sets those")
    if isinstance(value, str) and _VARIABLE.fullmatch(value):
        return value
    raise InvalidValue("the name of a variable: letters, digits and _, not starting with a digit")


def inherited(value: object) -> str:
    """The name of a variable that evalroom would clear."""
    if variable(value).startswith("INSPECT_"):
        return cast("str", value)
    raise InvalidValue("a variable that starts with INSPECT_; all others are kept anyway")


def secrets(value: object) -> Mapping[str, str]:
    """Secrets: a list of variables, or a table of variables with the names of their secrets."""
    if isinstance(value, list):
        return MappingProxyType(
            {each: each for each in list_of(variable, "variables")(cast("object", value))}
        )
    out: dict[str, str] = {}
    for key, each in table(value, 'a list like ["OPENAI_API_KEY"]').items():
        out[within(key, variable, key)] = within(key, secret_name, each)
    return MappingProxyType(out)


def secret_name(value: object) -> str:
    """The name of a secret."""
    if isinstance(value, str) and _VARIABLE.fullmatch(value):
        return value
    raise InvalidValue("the name of a secret (evalroom secrets list shows them), never its value")


def code(value: object) -> Code:
    """Where the code is; plain text is a directory on the machine."""
    if isinstance(value, str):
        return Code(directory=directory(value))
    rules: Mapping[str, Rule] = {
        "repository": repository,
        "ref": reference,
        "token": secret_name,
        "directory": directory,
    }
    out: dict[str, Any] = {}
    allowed = 'a table like { repository = "https://...", ref = "main" }, or a directory'
    for key, each in table(value, allowed).items():
        if key not in rules:
            raise UnknownKey(tuple(rules), (key,))
        out[key] = within(key, rules[key], each)
    if ("repository" in out) == ("directory" in out):
        raise InvalidValue("either a repository or a directory on the machine")
    if "directory" in out and len(out) > 1:
        raise InvalidValue('"directory" without "ref" and "token", which belong to a repository')
    if "token" in out and not out["repository"].startswith("https://"):
        raise InvalidValue(
            "a token only with an https:// URL; with ssh, git uses the account's key",
            ("token",),
        )
    return Code(**out)


def repository(value: object) -> str:
    """A git URL without a password."""
    if isinstance(value, str) and holds_secret(value):
        raise InvalidValue('a URL without a password: put the name of a secret into "token"')
    if isinstance(value, str) and _REPOSITORY.fullmatch(value) and value.isprintable():
        return value
    raise InvalidValue('a git URL, like "https://github.com/owner/name" or "git@host:owner/name"')


def reference(value: object) -> str:
    """A branch, tag or commit."""
    if isinstance(value, str) and _REFERENCE.fullmatch(value) and ".." not in value:
        return value
    raise InvalidValue("a branch, tag or commit")


def directory(value: object) -> str:
    """A folder on the machine."""
    if isinstance(value, str) and value.isprintable() and value.startswith(("/", "~/")):
        return value
    raise InvalidValue('a path on the machine that starts with "/" or "~/"')


def log_dir(value: object) -> str:
    """A folder on the machine, or a URL that Inspect can write to, like `s3://...`."""
    if isinstance(value, str) and _PLACE.fullmatch(value) and not holds_secret(value):
        return value
    try:
        return directory(value)
    except InvalidValue:
        allowed = 'a path on the machine that starts with "/" or "~/", or a URL like "s3://..."'
        raise InvalidValue(allowed) from None


def url(value: object) -> str:
    """A base URL."""
    is_url = isinstance(value, str) and re.fullmatch(r"https?://[!-~]+", value) is not None
    if isinstance(value, str) and is_url and not holds_secret(value):
        return value
    raise InvalidValue('a URL like "http://localhost:8000/v1", without a password')


def python(value: object) -> str:
    """An interpreter, or a version that uv installs."""
    if isinstance(value, str) and _PYTHON_VERSION.fullmatch(value):
        return value
    if isinstance(value, str) and value.isprintable() and value.startswith(("/", "~/")):
        return value
    if isinstance(value, str) and re.fullmatch(r"python[0-9.]*", value):
        return value
    raise InvalidValue('an interpreter like "/opt/venv/bin/python", or a version like "3.12"')


def task_file(task: str) -> tuple[str, str] | None:
    """Return path and name of a task in a file; None: the task is not in a file."""
    found = _TASK_FILE.fullmatch(task)
    return (found["path"], found["name"]) if found else None


def is_version(python: str) -> bool:
    """Whether the `python` of a spec is a version, not an interpreter."""
    return _PYTHON_VERSION.fullmatch(python) is not None


def version(value: object) -> str:
    """A version of Inspect."""
    if isinstance(value, str) and _VERSION.fullmatch(value):
        return value
    raise InvalidValue('a version as text, like "0.3.285"')


def package(value: object) -> str:
    """A package as pip names it."""
    if isinstance(value, str) and _PACKAGE.fullmatch(value) and value.isprintable():
        if holds_secret(value.partition("@")[2].strip()):
            raise InvalidValue("a package without a password in its URL")
        return value
    raise InvalidValue('a package as pip names it, like "inspect-evals" or "vllm>=0.8"')


def notes(value: object) -> str:
    """Free text."""
    return _without_secret(text_without_nul(value))


def _without_secret(value: str) -> str:
    if holds_secret(value):
        raise InvalidValue('text without a password or a key: put the name of one into "secrets"')
    return value


def engine(value: object) -> str:
    """The name of an engine."""
    return one_of(*ENGINES)(value)


WHOLE = whole(1, MAX_COUNT)
COUNT = whole(0, MAX_COUNT)
DOLLARS = number(0, 1e9, "dollars")
DISPLAY = one_of("full", "conversation", "rich", "plain", "log", "none")
FLAG = flag
GPUS = whole(0, 1024)
