"""Reads GPUs with whichever tool this machine has."""

from ssh.shipped.common.failures import Absent
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.probe.nvidia import read_nvidia
from ssh.shipped.probe.rocm import read_rocm


def read_gpus():
    nvidia, rocm = find_tool("nvidia-smi"), find_tool("rocm-smi")
    if nvidia:
        gpus = read_nvidia(nvidia)
        if gpus or not rocm:
            return "nvidia-smi", gpus
    if rocm:
        return "rocm-smi", read_rocm(rocm)
    raise Absent("there is neither nvidia-smi nor rocm-smi")
