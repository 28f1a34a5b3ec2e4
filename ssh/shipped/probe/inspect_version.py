"""The Inspect version of the interpreter that runs the probe."""

import sys

from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tools import run_to_end
from ssh.shipped.probe.reading import TOOL_TIMEOUT_S

PRINT_VERSION = (
    "import importlib.metadata as m\n"
    "try: print(m.version('inspect_ai'))\n"
    "except m.PackageNotFoundError: print('absent')"
)


def read_inspect_version():
    run = run_to_end([sys.executable, "-c", PRINT_VERSION], TOOL_TIMEOUT_S)
    if run.code:
        raise Failed(first_line(run.err) or "exit %d" % run.code)
    version = first_line(run.out, 60)
    if version == "absent":
        raise Absent("this Python has no inspect_ai")
    return version
