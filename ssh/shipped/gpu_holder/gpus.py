"""GPUs as {index, uuid, why}; `why` says why a GPU can't be reserved; None: it can."""

import json
import os
import re
import subprocess

from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.gpu_holder.refused import Refused

TOOL_TIMEOUT_S = 20.0
CSV = "--format=csv,noheader,nounits"
MAX_MESSAGE = 200  # characters


def read_gpus():
    """Return the variable that chooses GPUs for a program, and the GPUs."""
    nvidia, rocm = find_tool("nvidia-smi"), find_tool("rocm-smi")
    gpus = read_nvidia(nvidia) if nvidia else []
    if not gpus and rocm:
        return "HIP_VISIBLE_DEVICES", read_rocm(rocm)
    if not nvidia:
        raise Refused("this machine has neither nvidia-smi nor rocm-smi, so its GPUs are unknown")
    return "CUDA_VISIBLE_DEVICES", gpus


def run_tool(*words):
    """Return (exit status, output) of a tool. A tool that hangs may hang even when it is killed."""
    name = os.path.basename(words[0])
    try:
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, cwd="/",
        )  # fmt: skip
    except OSError as error:
        raise Refused("%s can't be run: %s" % (name, error.strerror)) from None
    try:
        out = child.communicate(timeout=TOOL_TIMEOUT_S)[0]
    except subprocess.TimeoutExpired:
        child.kill()
        raise Refused(
            "%s did not answer in %d s, so the free GPUs are unknown" % (name, TOOL_TIMEOUT_S)
        ) from None
    return child.returncode, out.decode("utf-8", "replace")


def read_nvidia(tool):
    names = "index,uuid,mig.mode.current"
    for query in (names, names.rpartition(",")[0]):  # an older driver has no MIG
        status, out = run_tool(tool, "--query-gpu=" + query, CSV)
        if not (status and "not a valid field" in out):
            break
    gpus = []
    for line in out.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) < 2 or not re.match(r"[0-9]{1,4}\Z", cells[0]):
            continue
        gpu = {"index": int(cells[0]), "uuid": cells[1], "why": None}
        if not re.match(r"GPU-[0-9A-Za-z-]{1,80}\Z", cells[1]):
            gpu.update(uuid=None, why="is lost")
        elif cells[-1].lower() == "enabled":
            gpu["why"] = "is split into MIG slices, which evalroom does not reserve"
        gpus.append(gpu)
    if not gpus and status and "no devices" not in out.lower():
        raise Refused("nvidia-smi lists no GPU: %s" % one_line(out))
    status, out = run_tool(tool, "--query-compute-apps=gpu_uuid,pid", CSV)
    used = {}
    for line in () if status else out.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 2:
            used.setdefault(cells[0], []).append(cells[1])
    for gpu in gpus:
        if gpu["uuid"] in used and gpu["why"] is None:
            gpu["why"] = used_by(used[gpu["uuid"]])
    return sorted(gpus, key=lambda gpu: gpu["index"])


def read_rocm(tool):
    cards, pids = rocm_json(tool, "--showuniqueid"), rocm_json(tool, "--showpidgpus")
    used = {}
    for key, value in (pids.get("system") or {}).items():
        for index in re.findall(r"\b[0-9]{1,4}\b", str(value)) if key.startswith("PID") else ():
            used.setdefault(int(index), []).append(key[3:].strip())
    found = (re.match(r"card([0-9]{1,4})\Z", name) for name in cards)
    indexes = sorted(int(each.group(1)) for each in found if each)
    if not indexes:
        raise Refused("rocm-smi lists no GPU")
    return [
        {
            "index": index,
            "uuid": None,  # HIP takes indexes
            "why": used_by(used[index]) if index in used else None,
        }
        for index in indexes
    ]


def rocm_json(tool, option):
    out = run_tool(tool, option, "--json")[1]
    try:
        found = json.JSONDecoder().raw_decode(out[max(0, out.find("{")) :])[0]
    except (ValueError, RecursionError):
        raise Refused("rocm-smi did not print JSON: %s" % one_line(out)) from None
    return found if isinstance(found, dict) else {}


def used_by(pids):
    return "is used by pid " + ", ".join(pids[:8])


def one_line(text):
    return " ".join(text.split())[:MAX_MESSAGE]
