"""Memory of a GPU that no eval holds: another program, or one that an ended eval left."""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.fleet import Fleet
from core.fold.trails import gpu_key
from core.format import size
from core.judge.gpu_holders import evals_on_gpus, strangers_on
from core.judge.levels import power_above
from core.judge.server_users import users_of
from core.judge.sign import Kind, Scene, Sign, Signs, signs
from core.model.finding import Severity
from core.model.machine import Gpu, GpuProcess, Machine, ToolState
from core.text import shown

_SHARE = JudgeRule(
    kind="gpu-held", name="notice", default=10, unit="percent", high=100,
    help="Memory of a GPU that others than evals hold, from which it is a notice.",
)  # fmt: skip
_IDLE = JudgeRule(
    kind="gpu-held", name="suspect", default=1_800, unit="seconds",
    help="If the GPU is idle for longer too, it is suspect.",
)  # fmt: skip
_MAX_NAMED = 2


def _signs(scene: Scene, machine: Machine) -> Signs | None:
    facts = machine.facts
    if facts is None or not machine.link.is_alive or facts.gpu_state is not ToolState.OK:
        return None
    evals = evals_on_gpus(scene, machine)
    if not evals:
        return signs(facts.at)  # nothing of ours runs there: its GPUs are not our concern
    found: list[Sign] = []
    for gpu in facts.gpus:
        used, total = gpu.memory_used, gpu.memory_total
        eases = 0.8 if gpu_key(gpu) in scene.open else 1.0
        if not used or not total or 100.0 * used / total < scene.rules.number(_SHARE) * eases:
            continue
        strangers = strangers_on(gpu, evals)
        if not strangers or len(strangers) < len(gpu.pids):
            continue  # an eval holds it too, or nobody that can be seen
        if any(_is_used_server(scene.fleet, machine, each) for each in strangers):
            continue
        idle = machine.trail.idle_since.get(gpu_key(gpu))
        is_idle = idle is not None and facts.at - idle >= scene.rules.number(_IDLE)
        severity: Severity = "suspect" if is_idle else "notice"
        found.append(
            Sign(
                key=gpu_key(gpu),
                severity=severity,
                reading=facts.at,
                text=sentences(
                    f"GPU {gpu.index} is held by no eval: under {size(power_above(used))} belong"
                    f" to {_who(gpu)}",
                    "See whether it is still needed, and end it if not" if is_idle else "",
                ),
                closes_when="the memory of the GPU is free, or an eval holds it",
                machine=machine.name,
            )
        )
    return signs(facts.at, found)


def _is_used_server(fleet: Fleet, machine: Machine, holder: GpuProcess) -> bool:
    """Whether a process belongs to a model server that running tasks use."""
    servers = machine.facts.model_servers if machine.facts is not None else None
    return any(
        (holder.pid == each.pid or each.kind in holder.name.lower())
        and users_of(fleet, machine, each)
        for each in servers or ()
    )


def _who(gpu: Gpu) -> str:
    names: list[str] = []
    for each in gpu.pids[:_MAX_NAMED]:
        words = ", ".join(shown(word, 60) for word in (each.name, each.user) if word)
        names.append(f"process {each.pid}" + (f" ({words})" if words else ""))
    more = len(gpu.pids) - _MAX_NAMED
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


KIND = Kind(
    name="gpu-held",
    help="The memory of a GPU is held by no eval.",
    numbers=(_SHARE, _IDLE),
    of_machine=_signs,
)
