"""Templates of specs: TOML texts with blanks (`""`) for the operator to fill in."""

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
    """A template of a spec.

    Attributes:
        name: Its name in commands.
        title: Its purpose, one line.
        text: The TOML, with comments.
        blanks: The keys to fill in.
        path: The operator's own file; None: the template comes with evalroom.
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
# Checks that an eval runs on a machine. Needs no network, no API key and no Docker.
task = "evalroom/smoke"
model = "mockllm/model"         # a mock model that answers at once
machine = "any"                 # the first that fits; or the name of a machine, or a tag
{_ON_ERROR}
args = {{ samples = 10, pass_rate = 0.7 }}   # with the mock model, 70% of the samples pass
"""

_ARITHMETIC = f"""\
# Checks a model's endpoint and API key with 20 short sums.
task = "evalroom/arithmetic"
model = ""                      # fill in, like "openai/gpt-4o" or "openai-api/acme/name"
machine = ""                    # fill in: the name of a machine, a tag, or "any"
{_ON_ERROR}
# secrets = ["OPENAI_API_KEY"]  # the model's API key, by the name of its secret
# base_url = "http://localhost:8000/v1"    # an endpoint of your own
"""

_INTERCODE = f"""\
# InterCode: capture the flag with bash and Python, in one Docker container for each sample.
task = "inspect_evals/gdm_intercode_ctf"
model = ""                      # fill in, like "openai/gpt-4o"
machine = ""                    # fill in: a machine with Docker
{_ON_ERROR}
retry_on_error = 1              # retry an errored sample once: its container may have failed
packages = ["inspect-evals"]    # add the package of the model's provider, like "openai"
# secrets = ["OPENAI_API_KEY"]  # the model's API key, by the name of its secret
max_samples = 8                 # run 8 samples at once ...
max_sandboxes = 8               # ... in 8 containers
message_limit = 50              # messages for each sample
time_limit = 3600               # seconds for each sample
# limit = 10                    # run the first 10 samples only
"""

_CYBENCH = f"""\
# Cybench: capture-the-flag challenges with servers, in several containers for each sample.
task = "inspect_evals/cybench"
model = ""                      # fill in, like "openai/gpt-4o"
machine = ""                    # fill in: a machine with Docker and disk space for large images
{_ON_ERROR}
retry_on_error = 1              # retry an errored sample once: a container may have failed
packages = ["inspect-evals[cybench]"]   # add the package of the model's provider, like "openai"
# secrets = ["OPENAI_API_KEY"]  # the model's API key, by the name of its secret
max_samples = 4                 # run 4 samples at once ...
max_sandboxes = 4               # ... in 4 sets of containers
message_limit = 100             # messages for each sample
time_limit = 7200               # seconds for each sample
# Cybench starts Docker only after you acknowledge its risks. Read about them first.
# env = {{ CYBENCH_ACKNOWLEDGE_RISKS = "1" }}
# args = {{ variant_names = "hard" }}        # run only the variants of this name
"""

_GPQA = f"""\
# GPQA Diamond: multiple-choice questions. Needs no Docker; downloads its dataset once.
task = "inspect_evals/gpqa_diamond"
model = ""                      # fill in, like "openai/gpt-4o"
machine = ""                    # fill in: the name of a machine, a tag, or "any"
{_ON_ERROR}
packages = ["inspect-evals"]    # add the package of the model's provider, like "openai"
# secrets = ["OPENAI_API_KEY"]  # the model's API key, by the name of its secret
epochs = 4                      # run each sample 4 times
max_connections = 20            # calls to the model at once
# limit = 20                    # run the first 20 samples only
"""

_OWN = f"""\
# Your own task, from a git repository or from a folder on the machine.
task = ""                       # fill in: "path/in/the/repository/file.py@task_name"
model = ""                      # fill in, like "openai/gpt-4o"
machine = ""                    # fill in: the name of a machine, a tag, or "any"
{_ON_ERROR}
code = {{ repository = "", ref = "main" }}   # fill in; a private one needs token = "SECRET_NAME"
# code = {{ directory = "~/evals" }}         # or: a folder on the machine
# packages = ["openai"]         # packages that the task and the model need
# secrets = ["OPENAI_API_KEY"]  # the model's API key, by the name of its secret
# args = {{ level = "hard" }}     # arguments of the task
# gpus = 1                      # reserve one GPU
"""


def _built_in(name: str, title: str, text: str) -> Template:
    return Template(name=name, title=title, text=text, blanks=blanks_of(text))


def blanks_of(text: str) -> tuple[str, ...]:
    """Return the keys of a template to fill in; no keys if the text is not valid TOML."""
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
    _built_in(
        "smoke", "smoke test without network or API key; its score is known in advance", _SMOKE
    ),
    _built_in("arithmetic", "short check of a model's endpoint and API key", _ARITHMETIC),
    _built_in("intercode", "InterCode: capture the flag, in Docker", _INTERCODE),
    _built_in("cybench", "Cybench: capture-the-flag challenges, in Docker", _CYBENCH),
    _built_in("gpqa", "GPQA Diamond: multiple-choice questions", _GPQA),
    _built_in("own", "your own task, from a repository or a folder", _OWN),
)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")


def templates(folder: Path | None = None) -> tuple[Template, ...]:
    """Return evalroom's templates, then the operator's; those replace evalroom's of the same name.

    Args:
        folder: The operator's folder of `*.toml` files; it need not exist. None: no folder.
    """
    own = _own(folder) if folder is not None else ()
    names = {each.name for each in own}
    return (*(each for each in BUILT_IN_TEMPLATES if each.name not in names), *own)


def template_named(name: str, known: Sequence[Template]) -> Template:
    """Return the template of this name.

    Raises:
        SpecWrong: No template has this name.
    """
    for each in known:
        if each.name == name:
            return each
    names = ", ".join(each.name for each in known)
    raise SpecWrong(f'no template is called "{shown(name)}"', f"choose one of: {names}")


def _own(folder: Path) -> tuple[Template, ...]:
    try:
        paths = sorted(folder.glob("*.toml"))
    except OSError:
        return ()
    out: list[Template] = []
    for path in paths:
        if not _NAME.fullmatch(path.stem):
            continue
        if not path.is_file():  # a pipe would hold up the form
            out.append(_unreadable(path, SpecWrong(f"{shown(path.name)} is not a file")))
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
