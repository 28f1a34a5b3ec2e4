"""The machine itself."""

import os
import platform

from ssh.shipped.common.memory import read_memory
from ssh.shipped.common.platforms import PLATFORM
from ssh.shipped.common.users import user_name
from ssh.shipped.survey.network import has_route


def read_host():
    try:
        load = list(os.getloadavg())
    except OSError:
        load = []
    try:
        cpus = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        cpus = os.cpu_count()
    return {
        "python": platform.python_version(),
        "platform": PLATFORM,
        "host": platform.node(),
        "user": user_name(os.getuid()),
        "home": os.path.expanduser("~"),
        "cpus": cpus,
        "load": load,
        "memory": read_memory(),
        "has_route": has_route(),
    }
