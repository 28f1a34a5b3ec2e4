"""Specs to begin with: each is a TOML text whose blanks (`""`) are the operator's to fill in."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from core.errors import SpecWrong
from core.launch.spec.spec_reader import ON_ERROR_CHOICES, read_text
from core.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A spec to begin with.

    Attributes:
        title: What it is for, one line.
        text: The TOML, with comments.
        blanks: The keys that are to be filled in.
        path: The operator's own file; None: it comes with evalroom.
    """

    name: str
    title: str
    text: str
    blanks: tuple[str, ...]
    path: str | None = None


_ON_ERROR = "\n".join(
    ('on_error = ""                   # fill in one of:', *(f"#   {e}" for e in ON_ERROR_CHOICES))
)

_SMOKE = f"""\
# Does an eval run there at all? No network, no key, no container.
task = "evalroom/smoke"
model = "mockllm/model"
machine = "local"               # a machine's name, a tag, or "any"
{_ON_ERROR}
args = {{ samples = 10, pass_rate = 0.7 }}   # with the mock model that share passes
"""

_ARITHMETIC = f"""\
# Do a model's endpoint and key work there? Twenty short sums, scored as numbers.
task = "evalroom/arithmetic"
model = ""                      # fill in, like "openai/gpt-4o" or "openai-api/acme/name"
machine = ""                    # fill in: a machine's name, a tag, or "any"
{_ON_ERROR}
# secrets = ["OPENAI_API_KEY"]  # the model's key, by name
# base_url = "http://localhost:8000/v1"
"""

_INTERCODE = f"""\
# Capture the flag (InterCode): bash and Python in a container for each sample.
task = "inspect_evals/gdm_intercode_ctf"
model = ""                      # fill in
machine = ""                    # fill in: it needs Docker
{_ON_ERROR}
retry_on_error = 1              # a sample whose container failed is tried once more
packages = ["inspect-evals"]    # and what the model's provider wants, like "openai"
# secrets = ["OPENAI_API_KEY"]
max_samples = 8                 # as many containers at once
max_sandboxes = 8
message_limit = 50
time_limit = 3600               # seconds for a sample
# limit = 10
"""

_CYBENCH = f"""\
# Cybench: challenges with servers of their own, several containers for each sample.
task = "inspect_evals/cybench"
model = ""                      # fill in
machine = ""                    # fill in: it needs Docker, and disk for large images
{_ON_ERROR}
retry_on_error = 1
packages = ["inspect-evals[cybench]"]   # and what the model's provider wants
# secrets = ["OPENAI_API_KEY"]
max_samples = 4
max_sandboxes = 4
message_limit = 100
time_limit = 7200
# The task refuses Docker until its risks are acknowledged: read about them first.
# env = {{ CYBENCH_ACKNOWLEDGE_RISKS = "1" }}
# args = {{ variant_names = "hard" }}
"""

_GPQA = f"""\
# Questions and answers (GPQA Diamond): no container; the dataset is fetched once.
task = "inspect_evals/gpqa_diamond"
model = ""                      # fill in
machine = ""                    # fill in
{_ON_ERROR}
packages = ["inspect-evals"]    # and what the model's provider wants, like "openai"
# secrets = ["OPENAI_API_KEY"]
epochs = 4
max_connections = 20
# limit = 20
"""

_OWN = f"""\
# A task of your own: in a repository, or in a folder of the machine.
task = ""                       # fill in: "path/from/there/file.py@name"
model = ""                      # fill in
machine = ""                    # fill in
{_ON_ERROR}
code = {{ repository = "", ref = "main" }}   # fill in; token = "NAME" opens a private one
# code = {{ directory = "~/evals" }}         # or a folder on the machine
# packages = ["openai"]
# secrets = ["OPENAI_API_KEY"]
# args = {{ }}                  # the task's own
# gpus = 1
"""


def _built_in(name: str, title: str, text: str) -> Template:
    return Template(name=name, title=title, text=text, blanks=blanks_of(text))


def blanks_of(text: str) -> tuple[str, ...]:
    """Return the keys of a template that are to be filled in; none where it is no TOML."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError):
        return ()
    out = [key for key, value in table.items() if value == ""]
    for key, value in table.items():
        if isinstance(value, dict):
            held = cast("dict[str, object]", value)
            out += [f"{key}.{inner}" for inner, each in held.items() if each == ""]
    return tuple(out)


BUILT_IN_TEMPLATES = (
    _built_in("smoke", "smoke test: no network, no key, the score known in advance", _SMOKE),
    _built_in("arithmetic", "arithmetic check of a model's endpoint and key", _ARITHMETIC),
    _built_in("intercode", "capture the flag (InterCode), with Docker", _INTERCODE),
    _built_in("cybench", "Cybench, with Docker", _CYBENCH),
    _built_in("gpqa", "questions and answers (GPQA Diamond)", _GPQA),
    _built_in("own", "your own task, from a repository or a folder", _OWN),
)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")


def templates(folder: Path | None = None) -> tuple[Template, ...]:
    """Return all templates: evalroom's, then the operator's own by name, which go before.

    Args:
        folder: Where `*.toml` files of the operator are; one that is not there holds none.
    """
    own = _own(folder) if folder is not None else ()
    names = {each.name for each in own}
    return (*(each for each in BUILT_IN_TEMPLATES if each.name not in names), *own)


def template_named(name: str, known: Sequence[Template]) -> Template:
    """Return the template of that name.

    Raises:
        SpecWrong: There is none.
    """
    for each in known:
        if each.name == name:
            return each
    names = ", ".join(each.name for each in known)
    raise SpecWrong(f'there is no template "{shown(name)}"', f"there are: {names}")


def _own(folder: Path) -> tuple[Template, ...]:
    try:
        paths = sorted(folder.glob("*.toml"))
    except OSError:
        return ()
    out: list[Template] = []
    for path in paths:
        if not _NAME.fullmatch(path.stem):
            continue
        try:
            text = read_text(str(path))
        except SpecWrong as wrong:
            out.append(_unreadable(path, wrong))
            continue
        first = text.lstrip().partition("\n")[0]
        title = shown(first.lstrip("# ")) if first.startswith("#") else shown(path.name)
        out.append(
            Template(name=path.stem, title=title, text=text, blanks=blanks_of(text), path=str(path))
        )
    return tuple(out)


def _unreadable(path: Path, wrong: SpecWrong) -> Template:
    text = f"# {wrong.message}\n"
    return Template(name=path.stem, title=wrong.message, text=text, blanks=(), path=str(path))
