"""Reserves the GPUs and starts the run."""

import os
import signal
import sys

from ssh.shipped.common.platforms import LINUX
from ssh.shipped.gpu_holder.gpus import read_gpus
from ssh.shipped.gpu_holder.lock_files import lock_folder, wait_for_turn
from ssh.shipped.gpu_holder.refused import Refused
from ssh.shipped.gpu_holder.reservations import owner_record, reserve, write_owner
from ssh.shipped.gpu_holder.run_start import become, ctypes, keep

EXIT_NO_GPUS = 69


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
        variable, gpus = read_gpus()
        folder = lock_folder(folder)
        turn = wait_for_turn(folder)
        record = owner_record(run)
        taken = reserve(folder, gpus, wanted)
        write_owner(taken, record, [os.getpid()])
        os.close(turn)
    except (Refused, OSError) as error:
        sys.stderr.write("evalroom: %s\n" % error)
        return EXIT_NO_GPUS
    chosen = ",".join(gpu["uuid"] or str(gpu["index"]) for gpu, _ in taken)
    env = {**os.environ, "EVALROOM_RUN": run, variable: chosen, "CUDA_VISIBLE_DEVICES": chosen}
    return become(command, env, taken) if way == "become" else keep(command, env, taken, record)


if __name__ == "__main__":
    sys.exit(main())
