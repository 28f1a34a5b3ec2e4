"""The limits of the tmux server that already runs: its sessions get those, not the login's."""

import re

from ssh.shipped.common.proc import read_file
from ssh.shipped.survey.programs import output_of, tool_path

MAX_LIMITS_BYTES = 16 * 1024
OPEN_FILES = re.compile(r"^Max open files +(\d+|unlimited) ", re.MULTILINE)


def read_tmux_server(words):
    """Return {pid, open_files} of the tmux server that these words address; open_files: None: any.

    Raises Absent, Stuck or Failed; Failed too if no server runs.
    """
    command = [tool_path(words[0]), *words[1:], "display-message", "-p", "#{pid}"]
    pid = int(output_of(command, 3.0))
    limits = read_file("/proc/%d/limits" % pid, MAX_LIMITS_BYTES).decode("ascii", "replace")
    found = OPEN_FILES.search(limits)
    limit = found.group(1) if found else "unlimited"
    return {"pid": pid, "open_files": None if limit == "unlimited" else int(limit)}
