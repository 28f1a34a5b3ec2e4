"""Reservations of GPUs: how they stand on a machine, and which GPUs are free by them.

A run with `gpus = N` starts by `ssh/shipped/gpu_holder`, which reserves N of them until the
run's eval is gone. All there is to see of it, for whoever looks:

- The folder: the machine's `gpu_locks` of the config alone; where it names none, `SHARED_FOLDER`
  (mode 1777, made by the first who needs it), and where that can't be used, `OWN_FOLDER`: then
  accounts don't see each other's reservations.
- One file a GPU, mode 0666: `GPU-<uuid>.lock`, or `index-<n>.lock` where the driver names no
  UUID that begins with `GPU-` (`lock_name`). Files stay; one that is there says nothing yet.
- **Held** is a GPU while somebody has an exclusive `flock` on its file, or while one of the
  `pids` in it lives with that start: an eval whose holder was killed.
- What is in it: nothing, or one JSON object of at most `MAX_LOCK_BYTES`: `v` (1), `run`,
  `operator`, `account`, `host`, `gpu` (the index), `uuid` (or null), `at` (Unix seconds), and
  `pids`: an object of pid to start, written as the probe does
  (`<first 8 of the boot id>-<start ticks>`). Anybody there can write it: it is text of a host.
- `turn.lock` is locked by who picks, for as long as that takes. Whoever only looks takes it
  too, and asks with a shared `flock`, not waiting: else a picker would take the look for a
  reservation.
- GPUs with processes of others on them, lost ones, and those cut into MIG slices are not given.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from core.model.machine import Gpu
from core.text import Shown, shown

SHARED_FOLDER = "/var/lock/evalroom"
"""The usual folder of reservations."""
OWN_FOLDER = "~/.evalroom/gpus"
"""The folder of an account alone."""
MAX_LOCK_BYTES = 4096
EXIT_NO_GPUS = 69
"""The exit status of a run's script that found too few free GPUs; nothing was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A GPU that is held. Text in it is a host's, and untrusted.

    Attributes:
        name: Of its file, as `lock_name` makes it.
        run: The id of the run that has it; empty: not told.
        operator: Who launched that; empty: not told.
        account: On the machine; empty: not told.
        at: Since when, Unix seconds there; None: not told.
    """

    name: str
    run: str = ""
    operator: str = ""
    account: str = ""
    at: float | None = None


def lock_name(gpu: Gpu) -> str:
    """Return the name of the file that reserves a GPU."""
    is_known = gpu.uuid is not None and gpu.uuid.startswith("GPU-") and "/" not in gpu.uuid
    return f"{gpu.uuid}.lock" if is_known else f"index-{gpu.index}.lock"


def available_gpus(
    gpus: Sequence[Gpu], reservations: Iterable[Reservation], held: Collection[str] = ()
) -> tuple[Gpu, ...]:
    """Return the GPUs that a run can get now, in the order in which they are given.

    Args:
        gpus: All of a machine, with the processes on them.
        reservations: Those that are held.
        held: Names of files of what was given away in the same breath: to other runs of one
            launch that start before.
    """
    taken = {each.name for each in reservations} | set(held)
    return tuple(gpu for gpu in gpus if _can_be_given(gpu) and lock_name(gpu) not in taken)


def _can_be_given(gpu: Gpu) -> bool:
    return not gpu.pids and not gpu.lost and gpu.mig is None


def unavailable_reason(gpu: Gpu, reservations: Iterable[Reservation]) -> Shown | None:
    """Return what keeps a GPU from being given, a few words to follow its name; None: nothing."""
    for each in reservations:
        if each.name == lock_name(gpu):
            of = f" of {each.operator or each.account}" if each.operator or each.account else ""
            return shown(f"is reserved by run {each.run}{of}" if each.run else f"is reserved{of}")
    if gpu.lost:
        return shown("is lost")
    if gpu.mig is not None:
        return shown("is cut into MIG slices, which are not given")
    if gpu.pids:
        return shown(f"is used by pid {', '.join(str(each.pid) for each in gpu.pids)}")
    return None
