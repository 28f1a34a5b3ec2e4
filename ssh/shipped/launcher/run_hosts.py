"""The machine of a run: its name, its boot and its id, recorded at the run's start.

Several machines may share one home folder, so a run's folder does not mean that its process is
on this machine.
"""

import os

from ssh.shipped.common.namespaces import pid_namespace
from ssh.shipped.common.proc import BOOT_ID
from ssh.shipped.launcher.files import head_of

HOST_FILE = os.path.join("started", "host")  # the start script writes it
MACHINE_ID_FILE = "/etc/machine-id"
MAX_HOST_BYTES = 1024


def host_of(folder):
    """Return the name of the machine that started a run, and whether its processes are seen here.

    The name is empty and the answer None if the run's start did not record them. A container of
    this machine is another place: it may bear the machine's name, and has processes of its own.
    """
    name, _, boot, space, machine = host_record(folder)
    if not name or not boot:
        return name, None
    if boot == BOOT_ID and space:  # whatever the machine is called now
        return name, space == pid_namespace("self")
    if name != os.uname().nodename:
        return name, False
    if boot == BOOT_ID:
        return name, True
    # The same machine after a restart: its process is gone.
    own_id = head_of(MACHINE_ID_FILE, MAX_HOST_BYTES).decode("utf-8", "replace").strip()
    return name, machine == own_id


def host_record(folder):
    """Return the record of a run's start, as texts; unknown ones are empty.

    These are the host's name, Unix seconds, the boot id, the pid namespace and the machine id.
    """
    data = head_of(os.path.join(folder, HOST_FILE), MAX_HOST_BYTES)
    lines = [*data.decode("utf-8", "replace").splitlines(), "", "", "", "", ""]
    if not lines[3].startswith("pid:"):
        lines.insert(3, "")
    return lines[:5]
