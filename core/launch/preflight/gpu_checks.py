"""Checks of GPUs: how many are free, by their processes and by reservations."""

from collections.abc import Iterator, Sequence

from core.fleet import Fleet
from core.ids import MachineName
from core.launch.preflight.check_text import error_of, listed, size
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.gpu_reservations import (
    MAKE_SHARED_FOLDER,
    OWN_FOLDER,
    SHARED_FOLDER,
    Reservation,
    available_gpus,
    lock_name,
    unavailable_reason,
)
from core.launch.preflight.survey_facts import SurveyFacts, SurveyPart
from core.model.machine import Gpu, ToolState
from core.text import shown

_SUSPICIOUS_BYTES = 1024**3
"""A GPU without visible processes is suspicious if more memory is in use: 1 GiB."""


def gpus_of(facts: SurveyFacts, fleet: Fleet, machine: MachineName) -> SurveyPart[tuple[Gpu, ...]]:
    """Return a machine's GPUs: NVIDIA's from the survey, AMD's from the probe's last reading."""
    known = fleet.machines.get(machine)
    read = None if known is None else known.facts
    if facts.gpus.state is ToolState.ABSENT and read is not None and read.gpu_tool == "rocm-smi":
        state = read.gpu_state
        value = read.gpus if state is ToolState.OK else None
        return SurveyPart(state=state, value=value, error=read.gpu_error or "")
    return facts.gpus


def free_gpus(case: PreflightContext) -> tuple[Gpu, ...]:
    """Return the GPUs that the run can get now."""
    gpus = gpus_of(case.facts, case.fleet, case.plan.machine).value or ()
    return available_gpus(gpus, _held(case.facts), case.held)


def _held(facts: SurveyFacts) -> tuple[Reservation, ...]:
    reserved = facts.reservations.value
    return () if reserved is None else reserved.held


def gpu_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether enough GPUs are free for the run."""
    wanted = case.spec.gpus
    if not wanted:
        return
    part = gpus_of(case.facts, case.fleet, case.plan.machine)
    if part.value is None:
        yield _unread(part, wanted)
        return
    reserved = case.facts.reservations
    if reserved.state is ToolState.FAILED:
        yield stop("GPUs", f"GPUs can't be reserved: {error_of(reserved.error)}")
    elif reserved.value is None:
        text = "unknown which GPUs are reserved"
        yield warning("GPUs", f"{text}: {error_of(reserved.error)}" if reserved.error else text)
    elif reserved.value.folder == OWN_FOLDER:
        yield shared_folder_warning(reserved.value.why)
    if part.error:
        yield tool_warning(part.error)
    yield _enough(case, part.value, wanted)


def shared_folder_warning(why: str) -> Check:
    """Return the warning that other accounts don't see the GPU reservations of this one.

    Args:
        why: Why the shared folder is not used, as the machine says it.
    """
    reason = shown(why, 200) or f"{SHARED_FOLDER} is not usable"
    return warning(
        "GPUs",
        f"other accounts don't see GPU reservations of this account: {reason}",
        f"an administrator makes the folder once: {MAKE_SHARED_FOLDER};"
        " or set `gpu_locks` in the config",
    )


def tool_warning(error: str) -> Check:
    """Return the warning of a tool that failed but still listed GPUs."""
    return warning("GPUs", error_of(error), "check that GPU on the machine: nvidia-smi -q")


def _unread(part: SurveyPart[tuple[Gpu, ...]], wanted: int) -> Check:
    asked = f"gpus = {wanted}"
    match part.state:
        case ToolState.ABSENT:
            return stop(
                "GPUs", f"{asked}, but nvidia-smi is not installed", "choose another machine"
            )
        case ToolState.FAILED:
            return stop("GPUs", f"{asked}, but nvidia-smi fails: {error_of(part.error)}")
        case ToolState.STUCK:
            text = f"{asked}, but nvidia-smi is not responding, so free GPUs can't be determined"
            return stop("GPUs", text, "check the driver on the machine")
        case _:
            return warning("GPUs", f"{asked}, but it is unknown which GPUs are free")


def _enough(case: PreflightContext, gpus: Sequence[Gpu], wanted: int) -> Check:
    able = free_gpus(case)
    others = [each for each in gpus if each not in able]
    asked = f"gpus = {wanted}"
    if len(gpus) < wanted:
        return stop("GPUs", f"{asked}, but the machine has {len(gpus)}", "ask for fewer GPUs")
    if len(able) < wanted:
        why = listed([f"GPU {each.index} {_why(case, each)}" for each in others])
        advice = f"wait, or set gpus = {len(able)}" if able else "wait, or choose another machine"
        return stop("GPUs", f"{asked}, but {len(able)} of {len(gpus)} are free: {why}", advice)
    used = [each for each in able[:wanted] if (each.memory_used or 0) > _SUSPICIOUS_BYTES]
    if used:
        amounts = listed([f"GPU {each.index}: {size(each.memory_used or 0)}" for each in used])
        text = f"{len(able)} of {len(gpus)} are free, but some have memory in use ({amounts})"
        return warning(
            "GPUs", text, "someone may be using them with processes that this account can't see"
        )
    names = listed([f"{each.index}" for each in able])
    return passed("GPUs", f"{len(able)} of {len(gpus)} are free: {names} ({_kind(able)})")


def _why(case: PreflightContext, gpu: Gpu) -> str:
    if lock_name(gpu) in case.held:
        return "goes to another run of this launch"
    return unavailable_reason(gpu, _held(case.facts)) or "is not free"


def _kind(gpus: Sequence[Gpu]) -> str:
    return listed(list(dict.fromkeys(each.name or "unknown kind" for each in gpus)))
