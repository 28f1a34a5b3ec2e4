"""A model server on the machine that is loading, full, or dead while tasks use it."""

from collections.abc import Iterator

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import plural
from core.judge.server_users import users_of
from core.judge.sign import Kind, Scene, Sign, Signs, signs
from core.judge.words import last_step, short_time
from core.model.finding import Severity
from core.model.machine import Machine, MachineFacts
from core.model.model_server import ModelServer
from core.model.task import Task
from core.text import shown

_LOADING = JudgeRule(
    kind="model-server", name="loading", default=1_800, unit="seconds",
    help="A model server that has started more recently and does not answer is loading.",
)  # fmt: skip
_FULL = JudgeRule(
    kind="model-server", name="full", default=16, unit="requests",
    help="Requests that wait at a model server from which it is full.",
)  # fmt: skip
_EASES = 0.5
_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "ollama": "Ollama"}


def _signs(scene: Scene, machine: Machine) -> Signs | None:
    facts = machine.facts
    if facts is None or facts.model_servers is None or not machine.link.is_alive:
        return None
    found: list[Sign] = []
    there = {each.key for each in facts.model_servers}
    for server in facts.model_servers:
        found += _sign(scene, machine, facts, server)
    for server in machine.trail.servers:
        if server.key not in there:
            found += _lost(scene, machine, server)
    return signs(facts.at, found)


def _sign(
    scene: Scene, machine: Machine, facts: MachineFacts, server: ModelServer
) -> Iterator[Sign]:
    users = users_of(scene.fleet, machine, server)
    name = _name(server)
    if server.health == "ok":
        waiting = server.waiting or 0
        least = scene.rules.number(_FULL)
        if waiting >= least * (_EASES if _key(server) in scene.open else 1.0) and waiting:
            over = int(last_step(waiting, max(1.0, least * _EASES)))
            yield _of(scene, machine, server, "suspect" if users else "notice",
                sentences(
                    f"{name} is full: {plural(over, 'request')} or more wait{_used(users)}",
                    "Let the evals that use it open fewer connections",
                ),
            )  # fmt: skip
        return
    age = None if server.started_at is None else facts.at - server.started_at
    after = scene.rules.number(_LOADING)
    if age is not None and age < after:
        if users:
            text = f"{name} is loading: it does not answer yet{_used(users)}"
            yield _of(scene, machine, server, "notice", text)
        return
    severity: Severity = "alarm" if users else "notice"
    how = {"refused": "refuses connections", "silent": "does not answer"}.get(
        server.health, f"answers with {shown(server.health, 20)}"
    )
    long = f" after {short_time(after)}" if age is not None else ""
    text = sentences(
        f"{name} is dead: it {how}{long}{_used(users)}", "See its output, and start it again"
    )
    yield _of(scene, machine, server, severity, text)


def _lost(scene: Scene, machine: Machine, server: ModelServer) -> Iterator[Sign]:
    users = users_of(scene.fleet, machine, server)
    if users:
        text = sentences(
            f"{_name(server)} is dead: its process has ended{_used(users)}",
            "See its output, and start it again",
        )
        yield _of(scene, machine, server, "alarm", text)


def _of(scene: Scene, machine: Machine, server: ModelServer, severity: Severity, text: str) -> Sign:
    users = users_of(scene.fleet, machine, server)
    only = users[0] if len(users) == 1 else None
    return Sign(
        key=_key(server),
        severity=severity,
        reading=machine.facts.at if machine.facts is not None else 0.0,
        text=text,
        closes_when="the server answers, or nobody uses it",
        machine=machine.name,
        process=only.key.process if only is not None else None,
        task=only.key if only is not None else None,
        model=users[0].row.model if users else "",
        count=max(1, len(users)),
    )


def _key(server: ModelServer) -> str:
    return f"{server.pid}:{server.port}"


def _name(server: ModelServer) -> str:
    model = f" of {shown(server.model, 60)}" if server.model else ""
    kind = _NAMES.get(server.kind, "The model server")
    return f"{kind}{model} at port {server.port} (process {server.pid})"


def _used(users: tuple[Task, ...]) -> str:
    return f", and {plural(len(users), 'running task')} use{'s' * (len(users) == 1)} it" * bool(
        users
    )


KIND = Kind(
    name="model-server",
    help="A model server on the machine is loading, full, or dead while tasks use it.",
    numbers=(_LOADING, _FULL),
    of_machine=_signs,
)
