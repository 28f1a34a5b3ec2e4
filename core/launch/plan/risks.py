"""Risks of a spec that the plan names: they are allowed, but the operator should know them."""

import re
from collections.abc import Iterator

from core.launch.spec.spec import Spec
from core.text import shown

_CODE_VARIABLES = re.compile(
    r"LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|PATH|PYTHON(PATH|HOME|STARTUP|USERBASE|INSPECT)"
    r"|BASH_ENV|ENV|ZDOTDIR|PROMPT_COMMAND|SHELLOPTS|PERL5(LIB|OPT)|RUBY(LIB|OPT)|NODE_(OPTIONS|PATH)"
    r"|GIT_(SSH|SSH_COMMAND|ASKPASS|EXEC_PATH|CONFIG\w*|PROXY_COMMAND|TEMPLATE_DIR)|EDITOR|PAGER"
    r"|SSH_ASKPASS|DOCKER_(HOST|CONFIG|CONTEXT)|KUBECONFIG|CONTAINER_HOST"
)
"""Variables that decide which code, which programs or which engine an eval uses."""
_SOURCE_VARIABLES = re.compile(
    r"(PIP|UV)_(EXTRA_)?(INDEX|INDEX_URL|DEFAULT_INDEX|FIND_LINKS|TRUSTED_HOST|CONFIG_FILE)"
    r"|UV_INSECURE_HOST|HF_ENDPOINT|CONDA_CHANNELS|NPM_CONFIG_\w+"
)
"""Variables that decide where packages and weights come from."""
_WAY_VARIABLES = re.compile(
    r"(HTTPS?|ALL|NO|FTP)_PROXY|(SSL_CERT|REQUESTS_CA|CURL_CA|NODE_EXTRA_CA)\w*|\w*_SSL_VERIFY",
    re.IGNORECASE,
)
"""Variables that decide who can read or answer requests, API keys among them."""
_ODD_FOLDER = re.compile(
    r"/(etc|dev|proc|sys|run|boot|usr|bin|sbin|lib\w*|root|var/(run|spool|lib))(/.*)?|/"
)
_SHARED_FOLDER = re.compile(r"(/var)?/tmp(/.*)?|/dev/shm(/.*)?")
_HIDDEN_FOLDER = re.compile(r"(~|/home/[^/]+|/root)/\.[^/].*")
_PLAIN_TRANSPORT = re.compile(r"(http|git|ftp)://", re.IGNORECASE)
_CHANGED_ON_THE_WAY = "its code can be changed on the way"
_HERE = re.compile(r"http://(localhost|127\.[0-9.]+|\[::1\]|host\.docker\.internal)(:|/|$)")


def author_warning(spec: Spec) -> str:
    """Return a warning if someone else wrote the spec; empty: this operator wrote it.

    A plan shows this sentence first.
    """
    if not spec.author:
        return ""
    who = f"{shown(spec.author, 60)} wrote this spec, not you"
    if not spec.secrets:
        return f"{who}: read what it runs"
    names = ", ".join(shown(name, 60) for name in dict.fromkeys(spec.secrets.values()))
    return f"{who}: it would get your secrets {names}"


def risks_by_key(spec: Spec) -> Iterator[tuple[str, list[str]]]:
    """Yield keys of a spec, each with sentences about what it changes beyond the eval itself."""
    yield "env", list(_variables(spec))
    yield "packages", list(_packages(spec))
    yield "code", list(_repository(spec))
    yield "base_url", list(_base_url(spec))
    yield "log_dir", list(_log_folder(spec))


def _variables(spec: Spec) -> Iterator[str]:
    for name in (*spec.env, *spec.secrets):
        if _CODE_VARIABLES.fullmatch(name):
            yield f"env sets {shown(name, 60)}, which decides what code the eval runs"
        elif _SOURCE_VARIABLES.fullmatch(name):
            yield f"env sets {shown(name, 60)}, which decides where packages or weights come from"
        elif _WAY_VARIABLES.fullmatch(name):
            yield (
                f"env sets {shown(name, 60)}: whoever controls its value can read the eval's"
                " requests and keys"
            )


def _packages(spec: Spec) -> Iterator[str]:
    for package in spec.packages:
        _, at, source = package.partition("@")
        if at and source.strip():
            where = shown(source.strip(), 120)
            yield f"{shown(package.partition('@')[0].strip(), 60)} comes from {where}, not an index"
        if _PLAIN_TRANSPORT.search(source):
            yield f"{shown(source.strip(), 120)} is not encrypted: {_CHANGED_ON_THE_WAY}"


def _repository(spec: Spec) -> Iterator[str]:
    repository = spec.code.repository if spec.code is not None else None
    if repository is not None and _PLAIN_TRANSPORT.match(repository):
        yield f"{shown(repository, 120)} is not encrypted: {_CHANGED_ON_THE_WAY}"


def _base_url(spec: Spec) -> Iterator[str]:
    if not spec.secrets:
        return
    given = [spec.base_url or "", *(v for k, v in spec.env.items() if k.endswith("_BASE_URL"))]
    for url in given:
        if url.lower().startswith("http://") and not _HERE.match(url.lower()):
            yield f"{shown(url, 120)} is not encrypted: the API key can be read on the way"


def _log_folder(spec: Spec) -> Iterator[str]:
    folder = spec.log_dir
    if folder is None:
        return
    if ".." in folder.split("/"):
        yield f"log_dir {shown(folder, 120)} leads through `..`: name the folder itself"
    elif _ODD_FOLDER.fullmatch(folder) or _HIDDEN_FOLDER.fullmatch(folder):
        yield f"log_dir {shown(folder, 120)} is not a usual place for logs"
    elif _SHARED_FOLDER.fullmatch(folder):
        yield f"log_dir {shown(folder, 120)} is open to every account of the machine"
    elif _PLAIN_TRANSPORT.match(folder):
        yield f"log_dir {shown(folder, 120)} is not encrypted: logs can be read on the way"
