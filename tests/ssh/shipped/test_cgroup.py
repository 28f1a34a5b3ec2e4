"""Limits of control groups, of both versions, from files as the kernel writes them."""
# pyright: standard
# The shipped programs have no types.

import shutil
from pathlib import Path
from typing import cast

import pytest

from ssh.shipped.common import cgroup, cgroup_limits, memory
from ssh.shipped.launcher import memory_kills

GIB = 1024**3


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of control groups; `own` and `mounts` in it are what /proc says of them."""

    def read(path: str, limit: int = 65536) -> bytes:
        named = {"/proc/self/cgroup": "own", "/proc/self/mountinfo": "mounts"}
        found = tmp_path / named[path] if path in named else Path(path)
        return found.read_bytes()[:limit]

    monkeypatch.setattr(cgroup, "read_file", read)
    monkeypatch.setattr(cgroup_limits.os, "sched_getaffinity", lambda _: set(range(8)))
    return tmp_path


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


def mounted(groups: Path, own: str, *mounts: str) -> None:
    write(groups, own=own, mounts="\n".join(f"30 24 0:26 {each}" for each in mounts))


def test_the_strictest_limit_of_version_2_counts(groups: Path) -> None:
    mounted(groups, "0::/user.slice/job", f"/ {groups}/v2 rw,nosuid - cgroup2 cgroup2 rw")
    job, above = groups / "v2/user.slice/job", groups / "v2/user.slice"
    write(job, memory__max="max", memory__current="5", cpu__max="max 100000")
    write(
        above, memory__max=str(4 * GIB), memory__current=str(3 * GIB), cpu__max="250000 100000",
        memory__stat=f"anon 7\ninactive_file {GIB}\nactive_file 9",
    )  # fmt: skip
    assert cgroup_limits.memory_limits() == [(4 * GIB, 2 * GIB)]
    assert cgroup_limits.usable_cpus() == 2.5
    memory_read = cast("dict[str, int]", memory.read_memory())
    assert memory_read["total"] <= 4 * GIB
    assert memory_read["available"] <= 2 * GIB


@pytest.mark.parametrize("own", ["/", "/docker/1", "/../../elsewhere"])
def test_a_container_sees_its_own_group_at_the_mount(groups: Path, own: str) -> None:
    mounted(groups, f"0::{own}", f"/docker/1 {groups}/v2 ro - cgroup2 cgroup rw")
    write(groups / "v2", memory__max=str(GIB), memory__current=str(2 * GIB))
    assert cgroup_limits.memory_limits() == [(GIB, 0)]
    assert cgroup_limits.usable_cpus() == 8


def test_version_1_has_a_folder_for_each_kind_of_limit(groups: Path) -> None:
    mounted(
        groups,
        "4:memory:/docker/1\n2:cpuset:/\n1:cpu,cpuacct:/docker/1\n0::/",
        f"/docker/1 {groups}/memory ro - cgroup cgroup rw,memory",
        f"/docker/1 {groups}/cpu ro - cgroup cgroup rw,cpu,cpuacct",
        f"/ {groups}/cpuset ro - cgroup cgroup rw,cpuset",
    )
    write(
        groups / "memory", memory__limit_in_bytes=str(GIB), memory__usage_in_bytes="100",
        memory__stat="total_inactive_file 40",
    )  # fmt: skip
    write(groups / "cpu", cpu__cfs_quota_us="50000", cpu__cfs_period_us="100000")
    assert cgroup_limits.memory_limits() == [(GIB, GIB - 60)]
    assert cgroup_limits.usable_cpus() == 0.5


def test_without_a_limit_nothing_is_limited(groups: Path) -> None:
    mounted(
        groups,
        "4:memory:/\n1:cpu:/",
        f"/ {groups}/memory rw - cgroup cgroup rw,memory",
        f"/ {groups}/cpu rw - cgroup cgroup rw,cpu",
    )
    write(groups / "memory", memory__limit_in_bytes="9223372036854771712")
    write(groups / "cpu", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert cgroup_limits.memory_limits() == []
    assert cgroup_limits.usable_cpus() == 8
    (groups / "own").unlink()
    assert cgroup_limits.memory_limits() == []


@pytest.mark.parametrize("version", [1, 2])
def test_kills_for_lack_of_memory_since_a_start_are_counted(
    groups: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    text = groups / "vmstat"
    text.write_text("oom_kill 7\n")
    whole = cgroup.text_in

    def read(folder: str, name: str) -> str:
        return text.read_text() if folder == "/proc" else whole(folder, name)

    monkeypatch.setattr(cgroup, "text_in", read)
    monkeypatch.setattr(memory_kills, "text_in", read)
    run = groups / "run"
    run.mkdir()
    if version == 2:
        mounted(groups, "0::/job/1", f"/ {groups}/v2 rw - cgroup2 cgroup2 rw")
        own, above = groups / "v2/job/1", groups / "v2/job"
        write(own, memory__events="low 0\noom 3\noom_kill 2", memory__max="max")
        write(above, memory__events="oom_kill 4", memory__max=str(GIB))
    else:
        mounted(groups, "4:memory:/job/1", f"/ {groups}/v1 rw - cgroup cgroup rw,memory")
        own, above = groups / "v1/job/1", groups / "v1/job"
        write(own, memory__oom_control="under_oom 0\noom_kill 2")
        write(above, memory__oom_control="oom_kill 4", memory__limit_in_bytes=str(GIB))
    memory_kills.note_kills(str(run))
    memory_kills.note_kills(str(run))
    assert memory_kills.kills_since(str(run)) is None

    text.write_text("oom_kill 9\n")
    assert memory_kills.kills_since(str(run)) == {"group": 0, "limit": None, "machine": 2}
    counts = "memory__events" if version == 2 else "memory__oom_control"
    write(above, **{counts: "oom_kill 6"})
    shutil.rmtree(own)  # a login's group ends with it
    assert memory_kills.kills_since(str(run)) == {"group": 2, "limit": GIB, "machine": 2}
    (run / "memory-kills.json").write_text('{"": "x", "/": [1e999], "y": 3}')
    assert memory_kills.kills_since(str(run)) is None


def test_the_limit_of_processes_of_a_group_is_read(groups: Path) -> None:
    mounted(groups, "0::/a/b", f"/ {groups}/v2 rw - cgroup2 cgroup2 rw")
    write(groups / "v2/a/b", pids__max="max", pids__current="5")
    assert cgroup_limits.processes_left() is None
    write(groups / "v2/a", pids__max="40", pids__current="33")
    assert cgroup_limits.processes_left() == 7
