"""Whether accounts of a machine see each other's GPU reservations, and how to make it so."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from core.config.model import MachineConfig
from core.ctl.decode import inner, text
from core.launch.preflight.gpu_reservations import (
    KEEP_SHARED_FOLDER,
    MAKE_SHARED_FOLDER,
    OWN_FOLDER,
)
from core.launch.preflight.requirements import lock_folders
from core.model.job import Job, Worker
from core.text import Shown, shown

_TIMEOUT_S = 30.0
_OTHER_FACTS = (
    *("machine", "limits", "temporary", "session", "docker", "gpus", "running", "caches", "uv"),
    *("places", "logs", "runs", "programs", "hosts", "variables", "inspect"),
)
"""Facts of the survey that are not read for this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFolder:
    """The folder in which a machine's runs reserve GPUs.

    Attributes:
        folder: The folder; empty if none can be used, or if it is unknown.
        trouble: What is wrong with it, one sentence; empty: all accounts share it.
        steps: Commands with which an administrator mends that, once; empty: none are known.
    """

    folder: str
    trouble: Shown
    steps: tuple[str, ...] = ()


async def shared_folder_on(worker: Worker, machine: MachineConfig) -> SharedFolder:
    """Return the folder of GPU reservations on a machine; it reads nothing else there.

    Raises:
        RequestFailed: No answer came.
    """
    folders = list(lock_folders(machine.gpu_locks))
    given: Mapping[str, object] = {"reservations": folders, "skip": list(_OTHER_FACTS)}
    job = Job(program="survey", verb="survey", given=MappingProxyType(dict(given)))
    answer = await worker.work(machine.name, job, deadline=_TIMEOUT_S)
    return _judged(inner(answer, "reservations"), has_default=machine.gpu_locks is None)


def _judged(part: Mapping[str, object], *, has_default: bool) -> SharedFolder:
    steps = (MAKE_SHARED_FOLDER, KEEP_SHARED_FOLDER) if has_default else ()
    state = text(part, "state")
    if state != "ok":
        error = text(part, "error") or "the machine can't say"
        return SharedFolder(folder="", trouble=shown(f"GPUs can't be reserved: {error}", 400))
    found = inner(part, "value")
    folder, why = text(found, "folder") or "", text(found, "why") or ""
    if folder != OWN_FOLDER:
        return SharedFolder(folder=folder, trouble=Shown(""))
    trouble = "other accounts don't see GPU reservations of this account"
    return SharedFolder(
        folder=folder, trouble=shown(f"{trouble}: {why}" if why else trouble, 500), steps=steps
    )
