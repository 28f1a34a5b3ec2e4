"""GPU reservations: their files on a machine, and which GPUs are free.

A run with `gpus = N` starts through `ssh/shipped/gpu_holder`, which reserves N GPUs until the
eval has ended. The rules for every program that reads or writes reservations:

- Folder: the machine's `gpu_locks` of the config. Without it, `SHARED_FOLDER`, and if that is not
  usable, `OWN_FOLDER` (mode 0700); accounts then don't see each other's reservations, and a
  message says so. A folder is usable if it belongs to root or to this account, and is sticky
  where others may write to it: only root creates `SHARED_FOLDER` (mode 1777;
  `MAKE_SHARED_FOLDER`). It is opened once, without following a link, and every file relative to
  it.
- Files: each account has its own for each GPU, mode 0644: `GPU-<uuid>.lock`, or `index-<n>.lock` if
  the driver reports no UUID that starts with `GPU-` (`lock_name`); where another account has that
  name, with eight random hex digits before `.lock`. Nobody else can remove such a file, or write
  to it. Files stay; their existence means nothing. What is not a plain file does not count.
- A GPU is **held** while a process has a `flock` on one of its files, or while a process in such
  a file's `pids` is alive with the same start, and is of the account that owns the file: an eval
  whose holder was killed. A program that reserves a GPU locks its own file first, then looks
  whether another file holds the GPU.
- Content: empty, or one JSON object, filled with spaces to `MAX_LOCK_BYTES`: `v` (1), `run`,
  `operator`, `account`, `host`, `gpu` (the index), `uuid` (or null), `at` (Unix seconds), and
  `pids`, an object of pid to start in the probe's form (`<first 8 of the boot id>-<start ticks>`).
  It is untrusted text; the account's name comes from the file's owner. One write replaces it,
  so a held GPU keeps its names; its run empties the file right before it unlocks it.
- `turn.lock` is locked by a program while it picks GPUs, so that of two that want all GPUs one gets
  them. Who never unlocks it delays others by seconds only. A program that only reads locks it too,
  and tests the files with a shared, non-blocking `flock`: a picker would otherwise take the
  reader's lock for a reservation.
- GPUs with processes of others, lost GPUs and GPUs that are split into MIG slices are not free.
  Nor are those whose memory or utilisation is high though no process can be seen (`unseen_use`):
  a container has them. Nor are those that the login's CUDA_VISIBLE_DEVICES hides, or may hide:
  without CUDA_DEVICE_ORDER=PCI_BUS_ID its numbers count the fastest GPU first.
- A run gets indexes in the order of nvidia-smi, with CUDA_DEVICE_ORDER=PCI_BUS_ID.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from core.launch.preflight.check_text import size
from core.model.machine import Gpu
from core.text import Shown, shown

SHARED_FOLDER = "/var/lock/evalroom"
"""The default folder of reservations, shared by all accounts."""
MAKE_SHARED_FOLDER = f"sudo install -d -m 1777 -o root {SHARED_FOLDER}"
"""The command with which an administrator makes it, until the next start of the machine."""
KEEP_SHARED_FOLDER = (
    f"echo 'd {SHARED_FOLDER} 1777 root root -' | sudo tee /etc/tmpfiles.d/evalroom.conf"
)
"""The command with which systemd makes it again at each start; `/var/lock` is a memory disk."""
OWN_FOLDER = "~/.evalroom/gpus"
"""The folder of one account, if `SHARED_FOLDER` is not usable."""
MAX_LOCK_BYTES = 4096
_MIN_USED_BYTES = 1024**3
_MIN_USED_SHARE = 0.05
_MIN_UTILISATION = 20.0
"""Percent. The GPU holder has the same three numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A held GPU. Its text comes from a host, untrusted.

    Attributes:
        name: The name of its file (`lock_name`).
        run: The id of the run that has it; empty: unknown.
        operator: Who launched the run; empty: unknown.
        account: The account on the machine; empty: unknown.
    """

    name: str
    run: str = ""
    operator: str = ""
    account: str = ""


def lock_name(gpu: Gpu) -> str:
    """Return the name of the file that reserves a GPU."""
    is_known = gpu.uuid is not None and gpu.uuid.startswith("GPU-") and "/" not in gpu.uuid
    return f"{gpu.uuid}.lock" if is_known else f"index-{gpu.index}.lock"


def available_gpus(
    gpus: Sequence[Gpu], reservations: Iterable[Reservation], held: Collection[str] = ()
) -> tuple[Gpu, ...]:
    """Return the GPUs that a run can get now, in the order in which they are assigned.

    Args:
        gpus: All GPUs of a machine with their processes.
        reservations: The held reservations.
        held: Names of the lock files of GPUs that earlier runs of the same launch get.
    """
    taken = {each.name for each in reservations} | set(held)
    return tuple(gpu for gpu in gpus if _can_be_given(gpu) and lock_name(gpu) not in taken)


def _can_be_given(gpu: Gpu) -> bool:
    is_whole = not gpu.lost and gpu.mig is None
    return is_whole and not gpu.pids and gpu.blocked is None and unseen_use(gpu) is None


def unseen_use(gpu: Gpu) -> str | None:
    """Return how a GPU is used, whoever uses it; None: little or not at all, or unknown."""
    used, busy = gpu.memory_used, gpu.utilisation
    if used is not None and used > max(_MIN_USED_BYTES, (gpu.memory_total or 0) * _MIN_USED_SHARE):
        return f"{size(used)} in use"
    if busy is not None and busy >= _MIN_UTILISATION:
        return f"{busy:.0f}% utilisation"
    return None


def unavailable_reason(gpu: Gpu, reservations: Iterable[Reservation]) -> Shown | None:
    """Return why a GPU is not free, a few words to follow its name; None: it is free."""
    for each in reservations:
        if each.name == lock_name(gpu):
            of = f" of {each.operator or each.account}" if each.operator or each.account else ""
            return shown(f"is reserved by run {each.run}{of}" if each.run else f"is reserved{of}")
    use = unseen_use(gpu)
    if gpu.lost:
        return shown("is lost")
    if gpu.mig is not None:
        return shown("is split into MIG slices, which evalroom does not reserve")
    if gpu.pids:
        return shown(f"is used by pid {', '.join(str(each.pid) for each in gpu.pids)}")
    if gpu.blocked is None and use is not None:
        return shown(f"is in use by processes that this account can't see ({use})")
    return None if gpu.blocked is None else shown(gpu.blocked)
