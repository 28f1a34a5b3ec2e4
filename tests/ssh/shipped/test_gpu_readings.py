"""GPUs that the probe reads from the output of real tools and of broken ones."""
# ruff: noqa: E501 - outputs as the tools gave them
# pyright: standard
# The shipped programs have no types.

import getpass
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.rocm import read_rocm
from ssh.shipped.common.units import size_in_bytes
from ssh.shipped.probe.gpus import name_user
from ssh.shipped.probe.nvidia import read_nvidia
from tests.support.tree import ROOT
from tests.support.waiting import WAIT_S, wait_until

MIB = 1024 * 1024
Tool = Callable[[str, str], None]

TWO_GPUS = """\
0, GPU-5ba3f7c1-8f3a-9d6c-1111-000000000000, NVIDIA H100 80GB HBM3, 91, 70123, 81559, 64, 612.33, 700.00, Disabled
1, GPU-6ba3f7c1-8f3a-9d6c-1111-000000000001, NVIDIA H100 80GB HBM3, 0, 4, 81559, 31, 69.90, 700.00, Disabled
"""
APPS = """\
GPU-5ba3f7c1-8f3a-9d6c-1111-000000000000, 4242, 70100
GPU-5ba3f7c1-8f3a-9d6c-1111-000000000000, 4243, [N/A]
"""
NOT_AVAILABLE = """\
0, GPU-aa, NVIDIA GeForce GT 1030, [N/A], 210, 2002, 41, [N/A], [Not Supported], [N/A]
1, GPU-bb, Tesla K80, [Unknown Error], 210, 11441, ERR!, 60.1, 149.00, [Not Supported]
"""
MIG = """\
0, GPU-aa, NVIDIA A100-SXM4-40GB, [N/A], 20480, 40960, 38, 90.00, 400.00, Enabled
"""
MIG_LIST = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aa)
  MIG 3g.20gb     Device  0: (UUID: MIG-11)
  MIG 1g.5gb      Device  1: (UUID: MIG-22)
"""
LOST = """\
0, GPU-aa, NVIDIA A100, 5, 100, 40960, 38, 90.00, 400.00, Disabled
Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU
"""
LOST_FIELDS = """\
0, GPU-aa, NVIDIA A100, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]
"""
ROCM = {
    "card0": {
        "Device Name": "AMD Instinct MI300X",
        "GPU use (%)": "97",
        "VRAM Total Memory (B)": "206141652992",
        "VRAM Total Used Memory (B)": "190000000000",
        "Temperature (Sensor junction) (C)": "71.0",
        "Temperature (Sensor memory) (C)": "60.0",
        "Current Socket Graphics Package Power (W)": "702.0",
        "Max Graphics Package Power (W)": "750.0",
        "Unique ID": "0xabc",
        "Card Series": "AMD Instinct MI300X OAM",
    },
    "card1": {"GPU use (%)": "N/A", "Card Series": "AMD Instinct MI300X OAM"},
    "system": {"Driver version": "6.7.0"},
}


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    return folder


@pytest.fixture
def tool(tools: Path) -> Tool:
    """Put a shell script in the place of a tool."""

    def write(name: str, script: str) -> None:
        path = tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return write


def nvidia(gpus: str, apps: str = "", listed: str = "", status: int = 0) -> str:
    """A nvidia-smi that says this."""
    return (
        f'case "$1" in --query-gpu=*) cat <<"E"\n{gpus}E\nexit {status};;\n'
        f'--query-compute-apps=*) cat <<"E"\n{apps}E\n;;\n-L) cat <<"E"\n{listed}E\n;; esac'
    )


def read_gpus(tools: Path) -> list[dict[str, Any]]:
    """The probe's reading of the nvidia-smi in `tools`."""
    rows: list[dict[str, Any]] = read_nvidia(str(tools / "nvidia-smi"))[0]
    return rows


def test_gpus_are_read_with_the_pids_on_them(tools: Path, tool: Tool) -> None:
    tool("nvidia-smi", nvidia(TWO_GPUS, APPS))
    first, second = read_gpus(tools)
    assert first["name"] == "NVIDIA H100 80GB HBM3"
    assert (first["utilisation"], first["temperature"], first["power"]) == (91.0, 64.0, 612.33)
    assert (first["memory_used"], first["memory_total"]) == (70123 * MIB, 81559 * MIB)
    assert first["pids"] == [
        {"pid": 4242, "memory": 70100 * MIB}, {"pid": 4243, "memory": None},
    ]  # fmt: skip
    assert second["pids"] == []
    assert second["mig"] is None


def test_a_process_on_a_gpu_is_named_and_has_the_eval_that_started_it() -> None:
    """Real processes: this one is the eval, its child's child holds the GPU."""
    with subprocess.Popen(
        ["sh", "-c", "sleep 3600 & echo $!; wait"], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        row: dict[str, Any] = {"pid": grandchild, "memory": 1}
        name_user(row, {os.getpid()})
        assert row == {"pid": grandchild, "memory": 1, "started_by": os.getpid()}
        row = {"pid": grandchild, "memory": 1}

        def name() -> str:
            name_user(row, {2**22 + 1})
            return str(row["name"])

        wait_until(lambda: name() == "sleep 3600", "the shell's child runs its program", seen=name)
        assert row["user"] == getpass.getuser()
        assert "started_by" not in row
        os.kill(grandchild, signal.SIGKILL)


def test_a_process_that_is_not_there_has_no_name() -> None:
    row: dict[str, Any] = {"pid": 2**22 + 1, "memory": 1}
    name_user(row, {os.getpid()})
    assert (row["name"], row["user"]) == ("", "")


def test_a_value_that_a_gpu_does_not_report_is_unknown(tools: Path, tool: Tool) -> None:
    tool("nvidia-smi", nvidia(NOT_AVAILABLE))
    first, second = read_gpus(tools)
    assert (first["utilisation"], first["power"], first["power_limit"]) == (None, None, None)
    assert first["memory_used"] == 210 * MIB
    assert (second["utilisation"], second["temperature"], second["power"]) == (None, None, 60.1)
    assert not second["lost"]


def test_mig_slices_follow_their_gpu(tools: Path, tool: Tool) -> None:
    tool("nvidia-smi", nvidia(MIG, "MIG-22, 77, 1000\n", MIG_LIST) + "\nexit 14")
    parent, large, small = read_gpus(tools)
    assert (parent["mig"], large["mig"], small["mig"]) == ("enabled", "3g.20gb", "1g.5gb")
    assert [row["index"] for row in (parent, large, small)] == [0, 0, 0]
    assert small["pids"] == [{"pid": 77, "memory": 1000 * MIB}]


@pytest.mark.parametrize(("text", "count"), [(LOST, 2), (LOST_FIELDS, 1)])
def test_a_lost_gpu_is_named_lost(tools: Path, tool: Tool, text: str, count: int) -> None:
    tool("nvidia-smi", nvidia(text, status=15))
    rows = read_gpus(tools)
    assert len(rows) == count
    assert rows[-1]["lost"]
    assert rows[-1]["utilisation"] is None


def test_an_older_driver_without_mig_is_asked_again(tools: Path, tool: Tool) -> None:
    tool(
        "nvidia-smi",
        'case "$1" in *mig*) echo \'Field "mig.mode.current" is not a valid field to query.\'; exit 2;; '
        "--query-gpu=*) echo '0, GPU-aa, Tesla P100, 5, 1, 2, 3, 4.0, 5.0';; esac",
    )
    (row,) = read_gpus(tools)
    assert (row["name"], row["power_limit"]) == ("Tesla P100", 5.0)


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("echo 'NVIDIA-SMI has failed because it could not communicate with the driver'; exit 9",
         "NVIDIA-SMI has failed"),
        ("head -c 100000 /dev/urandom", "."),
        ("yes", "bytes of output"),
        ("exit 3", "exit 3"),
        ("echo 0, GPU-a", "0, GPU-a"),
    ],
)  # fmt: skip
def test_a_tool_that_fails_says_why(tools: Path, tool: Tool, script: str, output: str) -> None:
    tool("nvidia-smi", script)
    with pytest.raises(Failed, match=output):
        read_gpus(tools)


def test_no_devices_is_not_a_failure(tools: Path, tool: Tool) -> None:
    tool("nvidia-smi", "echo 'No devices were found'; exit 6")
    assert read_gpus(tools) == []


def test_rocm_cards_are_read(tools: Path, tool: Tool) -> None:
    pids = {"system": {"PID4242": "python3, 1, 190000000000, 0, 0"}}
    where = {"system": {"PID4242": "[0]"}}
    tool(
        "rocm-smi",
        f"case \"$*\" in *showpidgpus*) echo '{json.dumps(where)}';; "
        f"*showpids*) echo '{json.dumps(pids)}';; "
        f"*) echo 'WARNING: AMD GPU device(s) is/are in a low-power state'; "
        f"echo '{json.dumps(ROCM)}';; esac",
    )
    (first, second), why = read_rocm(str(tools / "rocm-smi"), 20.0)
    assert why is None
    assert first["name"] == "AMD Instinct MI300X OAM"
    assert (first["utilisation"], first["temperature"], first["power"]) == (97.0, 71.0, 702.0)
    assert (first["memory_used"], first["memory_total"]) == (190000000000, 206141652992)
    assert first["pids"] == [{"pid": 4242, "memory": 190000000000}]
    assert (second["index"], second["utilisation"]) == (1, None)


def test_rocm_garbage_is_a_failure(tools: Path, tool: Tool) -> None:
    tool("rocm-smi", "echo '{\"card0\": '")
    with pytest.raises(Failed):
        read_rocm(str(tools / "rocm-smi"), 20.0)


ABSURD = f"""\
², GPU-aa, a superscript is not an index, 1, 2, 3, 4, 5, 6, Disabled
{"9" * 5_000}, GPU-bb, no index, 1, 2, 3, 4, 5, 6, Disabled
7, GPU-cc, NVIDIA A100, 1e999, 1e308, 1e300, nan, -inf, {"9" * 5_000}, Disabled
"""


def test_absurd_numbers_of_a_tool_are_unknown(tools: Path, tool: Tool) -> None:
    apps = f"GPU-cc, ², 5\nGPU-cc, {'9' * 5_000}, 5\nGPU-cc, 42, 1e308\n"
    tool("nvidia-smi", nvidia(ABSURD, apps))
    [gpu] = read_gpus(tools)
    assert (gpu["index"], gpu["pids"]) == (7, [{"pid": 42, "memory": None}])
    assert {
        gpu[name] for name in ("utilisation", "memory_used", "memory_total", "temperature", "power")
    } == {None}
    assert size_in_bytes("9" * 400 + "PiB / 3") is None


def test_nvidia_smi_of_windows_is_found_though_the_path_is_short(tmp_path: Path) -> None:
    """WSL mounts the driver's tools at a place that no login has on its PATH."""
    lib, work = tmp_path / "lib", tmp_path / "work"
    tool = lib / "wsl" / "lib" / "nvidia-smi"
    tool.parent.mkdir(parents=True)
    work.mkdir()
    tool.write_text(WSL_TOOL)
    tool.chmod(0o755)
    mount = f"lowerdir=/usr/lib,upperdir={lib},workdir={work}"
    script = f'mount -t overlay overlay -o {mount} /usr/lib && exec {sys.executable} -c "$1"'
    done = subprocess.run(
        ["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh", READ_GPUS],
        cwd=ROOT, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
        timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found_at, (tool_name, [gpu], warning) = json.loads(done.stdout)
    assert found_at == "/usr/lib/wsl/lib/nvidia-smi"
    assert (tool_name, gpu["name"], warning) == ("nvidia-smi", "RTX 4090", None)


WSL_TOOL = """#!/bin/sh
case "$*" in
*--query-gpu=*) echo "0, GPU-aa, RTX 4090, 3, 400, 24564, 40, 20.0, 450.00, [N/A]" ;;
esac
"""
READ_GPUS = """
import json
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.probe.gpus import read_gpus
print(json.dumps([find_tool("nvidia-smi"), read_gpus()]))
"""
