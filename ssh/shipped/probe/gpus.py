"""Reads GPUs with whichever tool this machine has."""

from ssh.shipped.common.failures import Absent
from ssh.shipped.common.rocm import read_rocm
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.probe.nvidia import read_nvidia
from ssh.shipped.probe.reading import TOOL_TIMEOUT_S


def read_gpus():
    """Return the tool, the rows of the GPUs, and what the tool warns of; None: nothing."""
    nvidia, rocm = find_tool("nvidia-smi"), find_tool("rocm-smi")
    if nvidia:
        gpus, warning = read_nvidia(nvidia)
        if gpus or not rocm:
            return "nvidia-smi", gpus, warning
    if rocm:
        gpus, why = read_rocm(rocm, TOOL_TIMEOUT_S)
        return "rocm-smi", gpus, why and "rocm-smi does not list the processes: %s" % why
    raise Absent("there is neither nvidia-smi nor rocm-smi")
