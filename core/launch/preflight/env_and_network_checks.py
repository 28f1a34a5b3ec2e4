"""Checks of variables, of downloads that need a network, and of the engine's program."""

from collections.abc import Iterator

from core.format import plural
from core.launch.engines.registry import engine_named
from core.launch.preflight import requirements
from core.launch.preflight.check_text import error_of, listed
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.survey_facts import CacheFacts, SurveyFacts
from core.model.machine import ToolState

_PREPARE = "download it with `evalroom machines prepare` while the machine has a network"


def variable_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the spec or the login sets the variables that the models need."""
    spec = case.spec
    wanted = {*spec.secrets.values()}
    if spec.code is not None and spec.code.token is not None:
        wanted.add(spec.code.token)
    unknown = sorted(wanted - set(case.secrets))
    for name in unknown:
        yield stop(
            "secrets",
            f"the secret {name} is not stored",
            f"enter it with: evalroom secrets set {name}",
        )
    lacks = requirements.unset_variables(spec, case.login)
    for model, each in lacks:
        others = f" (or {', '.join(each.instead)})" if each.instead else ""
        text = f"{model} needs {each.name}{others}, which neither the spec nor the login sets"
        how = f'secrets = ["{each.name}"]' if each.is_secret else f'env = {{ {each.name} = "..." }}'
        if case.facts.variables.value is None:
            yield warning("variables", f"{model} needs {each.name}{others}", f"set {how}")
        else:
            yield stop("variables", text, f"set {how}")
    given = list(_set(case))
    if given and not lacks and not unknown:
        yield passed("variables", listed(given))


def _set(case: PreflightContext) -> Iterator[str]:
    """Yield the variables of the models that are set, each with where."""
    spec = case.spec
    for name in requirements.variables_read(spec):
        if name in spec.secrets:
            yield f"{name} from the secrets"
        elif name in spec.env:
            yield f"{name} from env"
        elif name in case.login:
            yield f"{name} from the login"


def network_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield a guess at the files that are neither cached nor downloadable."""
    spec, facts = case.spec, case.facts
    server = requirements.server_of(spec)
    if server is not None:
        yield from _server(facts, server)
    caches = facts.caches.value
    if caches is None:
        return
    if requirements.counts_with_tokenizer(spec) and not caches.tokenizer:
        yield from _unreached(
            facts,
            requirements.TOKENIZER_ADDRESS,
            "the mock model counts tokens with a file that is not cached",
            f"{_PREPARE}, or have the task report its token usage",
        )
    offline = bool(caches.offline)
    for name in requirements.weights_of(spec, case.login):
        if not caches.models.get(name, False):
            yield from _weights(facts, name, caches)
    if requirements.may_fetch_data(spec):
        if offline:
            text = f"{caches.offline[0]} is set, so datasets come only from {caches.hub}"
            held = f"{plural(caches.datasets, 'dataset')} cached"
            yield warning("network", f"{text} ({held})")
        else:
            what = f"the dataset of {spec.task[0]} may need a download"
            yield from _unreached(facts, requirements.HUB_ADDRESS, what, _PREPARE)


def _server(facts: SurveyFacts, server: str) -> Iterator[Check]:
    part = facts.hosts.get(server)
    if part is None or part.state is ToolState.UNKNOWN:
        return
    if part.state is ToolState.OK:
        yield passed("network", f"{server} answers")
    else:
        text = (
            f"the model's server {server} is not reachable from the machine: {error_of(part.error)}"
        )
        yield warning("network", text, "start it, or correct `base_url`")


def _weights(facts: SurveyFacts, name: str, caches: CacheFacts) -> Iterator[Check]:
    what = f"the weights of {name} are not in {caches.hub}"
    advice = f"run `hf download {name}` on the machine while it has a network"
    if caches.offline:
        yield stop("network", f"{what}, and {caches.offline[0]} forbids the download", advice)
    else:
        yield from _unreached(facts, requirements.HUB_ADDRESS, what, advice)


def _unreached(facts: SurveyFacts, host: str, what: str, advice: str) -> Iterator[Check]:
    """Yield a warning if the host that has `what` is not reachable."""
    part = facts.hosts.get(host)
    if part is None or part.state in {ToolState.UNKNOWN, ToolState.OK}:
        return
    bare = host.rpartition(":")[0]
    yield warning("network", f"{what}, but {bare} is not reachable: {error_of(part.error)}", advice)


def engine_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the program that the engine needs is installed."""
    needed = engine_named(case.spec.engine).needs
    if needed is None:
        return
    part = case.facts.programs.get(needed)
    if part is None or part.state is ToolState.UNKNOWN:
        yield warning(needed, f"unknown whether {needed} is installed")
    elif part.state is ToolState.ABSENT:
        text = f'engine = "{case.spec.engine}" needs {needed}, which is not installed'
        yield stop(needed, text, "install it on the machine, or remove `engine` from the spec")
    elif part.state is ToolState.OK:
        yield passed(needed, part.value or needed)
    else:
        yield warning(needed, f"{needed} does not answer: {error_of(part.error)}")
