"""Reserves the GPUs and starts the run."""

import os
import signal
import sys
import time

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.gpu_holder.gpus import read_gpus
from ssh.shipped.gpu_holder.lock_files import lock_folder, wait_for_turn
from ssh.shipped.gpu_holder.refused import Refused
from ssh.shipped.gpu_holder.reservations import owner_record, reserve, write_owner
from ssh.shipped.gpu_holder.run_start import become, ctypes, keep

EXIT_NO_GPUS = 69
SETTLE_S = 4.0
SETTLE_PAUSE_S = 0.5


def reserve_free(folder, wanted, record):
    """Return the variables that choose among GPUs, and the reserved GPUs.

    The driver shows an eval's memory and utilisation for a moment after its end: a GPU that may
    have been left just now is looked at again.
    """
    end = time.monotonic() + SETTLE_S
    variables, gpus = read_gpus()
    opened = lock_folder(folder)
    try:
        while True:
            turn = wait_for_turn(opened)
            try:
                taken = reserve(opened, gpus, wanted)
                write_owner(taken, record, [os.getpid()])
                return variables, taken
            except Refused:
                is_settling = any(gpu["is_settling"] for gpu in gpus)
                if time.monotonic() > end or not (is_settling or turn is None):
                    raise
            finally:
                if turn is not None:
                    os.close(turn)
            time.sleep(SETTLE_PAUSE_S * (1.0 + os.urandom(1)[0] / 255.0))
            variables, gpus = read_gpus()
    finally:
        os.close(opened)


def main():
    """Return the exit status of the run's command, or EXIT_NO_GPUS."""
    wanted, folder, way, run, command = int(sys.argv[1]), *sys.argv[2:5], sys.argv[5:]
    signal.signal(
        signal.SIGCHLD, signal.SIG_DFL
    )  # if it were ignored, children could not be waited for
    try:
        if not LINUX:
            raise Refused("GPUs can be reserved on Linux only")
        if way == "keep" and ctypes is None:
            raise Refused("GPUs can't be reserved: the machine's python has no ctypes")
        record = owner_record(run)
        variables, taken = reserve_free(folder, wanted, record)
    except (Refused, Failed, OSError) as error:
        sys.stderr.write("evalroom: %s\n" % error)
        return EXIT_NO_GPUS
    # Indexes, as vLLM and others read integers, in the order of nvidia-smi.
    chosen = ",".join(str(gpu["index"]) for gpu, _ in taken)
    env = {**os.environ, "EVALROOM_RUN": run, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    env.update((variable, chosen) for variable in variables)
    env.pop("ROCR_VISIBLE_DEVICES", None)  # HIP_VISIBLE_DEVICES would count what it leaves
    return become(command, env, taken) if way == "become" else keep(command, env, taken, record)


if __name__ == "__main__":
    sys.exit(main())
