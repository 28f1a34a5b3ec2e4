"""Variables, what a network is needed for, and the program of an engine."""

from collections.abc import Iterator

from core.launch.engines.registry import engine_named
from core.launch.preflight import requirements
from core.launch.preflight.check_text import error_of, listed
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.survey_facts import CacheFacts, SurveyFacts
from core.model.machine import ToolState

_PREPARE = "evalroom machines prepare fetches it while there is a network"


def variable_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the models' variables are set: by the spec, or by the login there."""
    spec = case.spec
    wanted = {*spec.secrets.values()}
    if spec.code is not None and spec.code.token is not None:
        wanted.add(spec.code.token)
    unknown = sorted(wanted - set(case.secrets))
    for name in unknown:
        yield stop("secrets", f"the secret {name} is not kept here", f"evalroom secrets set {name}")
    lacks = requirements.unset_variables(spec, case.login)
    for model, each in lacks:
        others = f" (or {', '.join(each.instead)})" if each.instead else ""
        said = f"{model} needs {each.name}{others}, which neither the spec nor the login there sets"
        how = f'secrets = ["{each.name}"]' if each.is_secret else f'env = {{ {each.name} = "..." }}'
        if case.facts.variables.value is None:
            yield warning("variables", f"{model} needs {each.name}{others}", f"write {how}")
        else:
            yield stop("variables", said, f"write {how}")
    told = list(_set(case))
    if told and not lacks and not unknown:
        yield passed("variables", listed(told))


def _set(case: PreflightContext) -> Iterator[str]:
    """Yield which variable of the models is set where, by its name."""
    spec = case.spec
    for name in requirements.variables_read(spec):
        if name in spec.secrets:
            yield f"{name} from the secrets"
        elif name in spec.env:
            yield f"{name} from env"
        elif name in case.login:
            yield f"{name} from the login there"


def network_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield what is neither there nor can be fetched, as far as that can be guessed."""
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
            "the mock model counts tokens with a file that is not there",
            f"{_PREPARE}; or have the task tell its usage",
        )
    offline = bool(caches.offline)
    for name in requirements.weights_of(spec, case.login):
        if not caches.models.get(name, False):
            yield from _weights(facts, name, caches)
    if requirements.may_fetch_data(spec):
        if offline:
            said = f"{caches.offline[0]} is set: a dataset is taken from {caches.hub} alone"
            held = f"{caches.datasets} dataset{'s are' if caches.datasets != 1 else ' is'} there"
            yield warning("network", f"{said}, and {held}")
        else:
            what = f"the dataset of {spec.task[0]} may have to be fetched"
            yield from _unreached(facts, requirements.HUB_ADDRESS, what, _PREPARE)


def _server(facts: SurveyFacts, server: str) -> Iterator[Check]:
    part = facts.hosts.get(server)
    if part is None or part.state is ToolState.UNKNOWN:
        return
    if part.state is ToolState.OK:
        yield passed("network", f"{server} answers")
    else:
        said = f"the model's server {server} can't be reached from there: {error_of(part.error)}"
        yield warning("network", said, "start it, or mind base_url")


def _weights(facts: SurveyFacts, name: str, caches: CacheFacts) -> Iterator[Check]:
    what = f"the weights of {name} are not in {caches.hub}"
    if caches.offline:
        yield stop("network", f"{what}, and {caches.offline[0]} forbids to fetch them")
    else:
        yield from _unreached(facts, requirements.HUB_ADDRESS, what, _PREPARE)


def _unreached(facts: SurveyFacts, host: str, what: str, advice: str) -> Iterator[Check]:
    """Yield a warning where `what` is so and the host that has it can't be reached."""
    part = facts.hosts.get(host)
    if part is None or part.state in {ToolState.UNKNOWN, ToolState.OK}:
        return
    bare = host.rpartition(":")[0]
    yield warning("network", f"{what}, and {bare} can't be reached: {error_of(part.error)}", advice)


def engine_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the program is there that the engine needs."""
    needed = engine_named(case.spec.engine).needs
    if needed is None:
        return
    part = case.facts.programs.get(needed)
    if part is None or part.state is ToolState.UNKNOWN:
        yield warning(needed, f"it is not known whether {needed} is there")
    elif part.state is ToolState.ABSENT:
        said = f'engine = "{case.spec.engine}" needs {needed}, and there is none'
        yield stop(needed, said, "install it there, or leave engine out")
    elif part.state is ToolState.OK:
        yield passed(needed, part.value or needed)
    else:
        yield warning(needed, f"{needed} does not answer: {error_of(part.error)}")
