"""Facts of a machine that the probe reads from the output of real tools and of broken ones."""
# ruff: noqa: E501 - outputs as the tools gave them
# pyright: standard
# The shipped programs have no types.

import getpass
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.rocm import read_rocm
from ssh.shipped.common.units import size_in_bytes
from ssh.shipped.probe.gpus import name_user
from ssh.shipped.probe.nvidia import read_nvidia
from ssh.shipped.probe.reading import Reading
from ssh.shipped_program import shipped_program
from tests.support.direct_probe import DirectProbe, direct_probe
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


@pytest.mark.parametrize(
    ("text", "size"),
    [("12.5MiB", 13107200), ("1kB", 1000), ("3GiB", 3 * 2**30), ("0B", 0), ("--", None)],
)
def test_dockers_sizes_are_bytes(text: str, size: int | None) -> None:
    assert size_in_bytes(text) == size


def facts_of(probe: DirectProbe, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait for facts that are as wanted."""

    def newest() -> dict[str, Any] | None:
        frames = probe.of("facts")
        facts = json.loads(frames[-1].body) if frames else None
        return facts if facts is not None and wanted(facts) else None

    found: dict[str, Any] = probe.until(newest)
    return found


def test_all_facts_come_together(tools: Path, tool: Tool, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    listed = [
        {"id": "0123456789abcdef", "name": "sandbox-1", "image": "img:1", "status": "Up 2 hours",
         "created": "2026-11-30 07:41:33 +0100 CET", "project": "inspect-task-iabc123"},
        {"id": "1123456789abcdef", "name": "old", "status": "Exited (0) 2 days ago", "project": ""},
        {"id": "2123456789abcdef", "name": "sandbox-2", "status": "Exited (137) 2 hours ago",
         "project": "inspect-task-iabc124", "created": "?"},
    ]  # fmt: skip
    rows.write_text("".join(json.dumps(each) + "\n" for each in listed))
    tool("nvidia-smi", nvidia(TWO_GPUS, APPS))
    tool(
        "docker",
        'case "$1" in version) echo 27.1.1;; '
        f"ps) cat {rows};; "
        'stats) echo \'{"ID":"0123456789ab","MemUsage":"12.5MiB / 1GiB"}\';; esac',
    )
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env) as probe:
        facts = facts_of(
            probe,
            lambda facts: facts["gpu_state"] == facts["docker"]["state"] == facts["inspect"]["state"] == "ok"
            and facts["disks"],
        )  # fmt: skip
        assert (facts["gpu_tool"], len(facts["gpus"])) == ("nvidia-smi", 2)
        assert facts["docker"]["version"] == "27.1.1"
        assert facts["docker"]["containers"] == [
            {"id": "0123456789ab", "name": "sandbox-1", "image": "img:1", "status": "Up 2 hours",
             "memory": 13107200, "is_running": True, "created": 1796020893.0,
             "project": "inspect-task-iabc123", "holder": None},
            {"id": "2123456789ab", "name": "sandbox-2", "image": "",
             "status": "Exited (137) 2 hours ago", "memory": None, "is_running": False,
             "created": None, "project": "inspect-task-iabc124", "holder": None},
        ]  # fmt: skip
        assert facts["docker"]["total"] == 2
        assert facts["memory"]["total"] > facts["memory"]["available"] > 0
        assert len(facts["load"]) == 3
        assert facts["disks"][0]["what"] == "home"
        number = probe.ask("facts")
        frame = probe.first("facts", id=number)
        assert json.loads(frame.body)["cpus"] == facts["cpus"]


def test_a_tool_that_is_not_there_is_a_fact(tools: Path, tool: Tool, tmp_path: Path) -> None:
    tool("docker", "echo 'permission denied while trying to connect' >&2; exit 1")
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env) as probe:
        facts = facts_of(probe, lambda facts: facts["docker"]["state"] != "unknown")
        assert facts["docker"]["state"] == "failed"
        assert "permission denied" in facts["docker"]["error"]
        facts = facts_of(probe, lambda facts: facts["gpu_state"] != "unknown")
        assert (facts["gpu_state"], facts["gpus"]) == ("absent", [])


def test_a_warning_beside_good_rows_is_a_fact(tools: Path, tool: Tool, tmp_path: Path) -> None:
    end = "echo 'WARNING: infoROM is corrupted'; exit 14;;"
    script = nvidia(TWO_GPUS, APPS).replace("exit 0;;", end).replace("\n;;\n", f"\n{end}\n")
    tool("nvidia-smi", script)
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env) as probe:
        facts = facts_of(probe, lambda facts: facts["gpu_state"] != "unknown")
        assert (facts["gpu_state"], len(facts["gpus"])) == ("ok", 2)
        assert [each["pid"] for each in facts["gpus"][0]["pids"]] == [4242, 4243]
        assert facts["gpu_error"].startswith("nvidia-smi warns (exit 14, the infoROM is corrupted)")


def test_a_tool_that_hangs_from_the_first_reading_on_is_reported_before_the_next_facts(
    tools: Path, tool: Tool, tmp_path: Path
) -> None:
    tool("docker", "sleep 300")
    source = tmp_path / "quick.py"
    text = shipped_program("probe").decode()
    source.write_text(text.replace("STUCK_AFTER_S = 8.0", "STUCK_AFTER_S = 0.5"))
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env, facts_every=600, program=source) as probe:
        facts = facts_of(probe, lambda facts: facts["docker"]["state"] == "stuck")
        assert facts["docker"]["error"].startswith("no answer for")


def _first_answer(probe: DirectProbe) -> dict[str, Any] | None:
    """Return the first facts with an answer of the GPU tool."""
    all_facts = (json.loads(frame.body) for frame in probe.of("facts"))
    return next((facts for facts in all_facts if facts["gpu_state"] == "ok"), None)


def test_a_tool_that_hangs_is_stuck_since_then_and_holds_up_nothing(
    tools: Path, tool: Tool, tmp_path: Path
) -> None:
    count = tmp_path / "count"
    script = f'echo x >> {count}; [ "$(wc -l < {count})" -gt 1 ] && sleep 300; '
    tool("nvidia-smi", script + nvidia(TWO_GPUS))
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    source = tmp_path / "quick.py"
    text = shipped_program("probe").decode()
    assert "STUCK_AFTER_S = 8.0" in text
    source.write_text(text.replace("STUCK_AFTER_S = 8.0", "STUCK_AFTER_S = 0.5"))
    with direct_probe(tmp_path, env=env, facts_every=1, program=source) as probe:
        before = time.time()
        answered = probe.until(lambda: _first_answer(probe))  # until then it is slow, not hung
        facts = facts_of(
            probe, lambda facts: facts["at"] > answered["at"] and facts["gpu_state"] == "stuck"
        )
        assert before - 2 < facts["gpu_since"] < time.time()
        assert facts["cpus"]
        since = facts["gpu_since"]
        later = facts_of(probe, lambda facts: facts["at"] > since + 3)
        assert later["gpu_since"] == since
        assert count.read_text().count("x") <= 3


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


def test_a_reading_that_breaks_in_any_way_is_read_again() -> None:
    rounds: list[int] = []

    def read() -> str:
        rounds.append(1)
        if len(rounds) == 1:
            raise OverflowError("what nobody thought of")
        if len(rounds) > 2:
            threading.Event().wait()  # its thread has done its work here
        return "fine"

    reading = Reading("any", 0.01, read, lambda: None, lambda: True)
    reading.start()
    wait_until(lambda: len(rounds) >= 3, "it is read a third time", every=0.01)
    assert reading.value == "fine"


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
