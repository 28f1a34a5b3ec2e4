"""The machine of a run: its name, its boot and its id, recorded at the run's start.

Several machines may share one home folder, so a run's folder does not mean that its process is
on this machine.
"""

import os

from ssh.shipped.common.proc import BOOT_ID
from ssh.shipped.launcher.files import head_of

HOST_FILE = os.path.join("started", "host")  # the start script writes it
MACHINE_ID_FILE = "/etc/machine-id"
MAX_HOST_BYTES = 1024


def host_of(folder):
    """Return the name of the machine that started a run, and whether it is this machine.

    The name is empty and the answer None if the run's start did not record them.
    """
    name, _, boot, machine = host_record(folder)
    if not name or not boot:
        return name, None
    own_id = head_of(MACHINE_ID_FILE, MAX_HOST_BYTES).decode("utf-8", "replace").strip()
    # The same name with another boot is this machine after a restart: its process is gone.
    return name, name == os.uname().nodename and (boot == BOOT_ID or machine == own_id)


def host_record(folder):
    """Return what a run's start recorded: host name, Unix seconds, boot id, machine id; texts."""
    data = head_of(os.path.join(folder, HOST_FILE), MAX_HOST_BYTES)
    return [*data.decode("utf-8", "replace").splitlines(), "", "", "", ""][:4]
