"""The machine itself."""

import os
import platform

from ssh.shipped.common.cgroup_limits import usable_cpus
from ssh.shipped.common.load import read_load
from ssh.shipped.common.memory import read_memory
from ssh.shipped.common.platforms import PLATFORM
from ssh.shipped.common.users import user_name
from ssh.shipped.survey.network import has_route


def read_host():
    cpus = usable_cpus()
    return {
        "python": platform.python_version(),
        "platform": PLATFORM,
        "host": platform.node(),
        "user": user_name(os.getuid()),
        "home": os.path.expanduser("~"),
        "cpus": None if cpus is None else max(1, int(cpus)),
        "load": read_load(),
        "memory": read_memory(),
        "has_route": has_route(),
    }
