"""Makes the recording of an incident again: real Inspect, watched by the real room, no screen.

    python -m tests.incidents.record NAME ...

It reads NAME.toml, starts its evals, does its acts, trims what was recorded, and writes
NAME.jsonl.gz and the `moments` of NAME.toml. README.md says what the keys mean.
"""

import argparse
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w

from tests.incidents.model_server import ModelServer
from tests.incidents.stretched import Stretched
from tests.incidents.trimmed import trimmed
from tests.support.commands import Home
from tests.support.docker_engine import running_engine
from tests.support.evals import Eval, Evals, running_evals
from tests.support.gpus import Gpus
from tests.support.incidents import FOLDER
from tests.support.waiting import wait_until

CADENCES = ("spin-up", "ramping", "steady", "near-the-end", "trouble", "focused")


MEMORY = Path("/sys/fs/cgroup/memory/evalroom-incident")
"""The control group of an eval with `memory_mib`; root can make it, with control groups of v1."""


class Stage:
    """What one recording is made with: the home of the room, its evals, its link, its server."""

    def __init__(self, told: Mapping[str, Any], evals: Evals, more: Mapping[str, str]) -> None:
        self.told = told
        self.folder = evals.folder
        self.evals = evals
        self.more = dict(more)
        self.started: dict[str, Eval] = {}
        self.marks: list[tuple[str, float]] = []
        self.home = Home(self.folder / "home")
        self.recording = self.folder / "recording"
        self.server = ModelServer()
        self.gpus = Gpus(evals.folder / "gpus")
        self.stranger: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Start the evals and the room, do the acts, and end when the time is over."""
        self.home.folder.mkdir()
        self.home.configure(self._config())
        if "gpus" in self.told:
            self._set_gpus(dict.fromkeys(("busy", "used"), [0] * self.told["gpus"]))
            self.more["PATH"] = self.gpus.path
            self.stranger = subprocess.Popen(["sleep", "600"])
        room = self.home.start("--record", str(self.recording), "watch", "--json", env=self.more)
        printed = threading.Thread(target=room.communicate, daemon=True)
        printed.start()
        try:
            wait_until(self._has_begun, "the room records", 60)
            self._start_evals()
            began = time.time()
            acts: list[dict[str, Any]] = self.told.get("acts", [])
            end: dict[str, Any] = {"at": self.told["seconds"], "do": "look"}
            for act in (*acts, end):
                time.sleep(max(0.0, began + act["at"] - time.time()))
                self.marks.append((act.get("name", act["do"]), time.time()))
                self._do(act, room.pid)
            room.send_signal(signal.SIGINT)
            printed.join(60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(room.pid, signal.SIGKILL)
            self.server.close()
            if self.stranger is not None:
                self.stranger.kill()
                self.stranger.wait()

    def moments(self) -> dict[str, float]:
        """Return when each act was done and each step began, Unix seconds."""
        found: dict[str, float] = {}
        for name, at in self.marks:
            found.setdefault(name, at)
        for eval_name in self.started:
            marks = self.folder / f"{eval_name or 'eval'}.json.marks"
            lines = marks.read_text().splitlines() if marks.exists() else []
            for line in lines:
                mark = json.loads(line)
                found.setdefault(f"{eval_name} {mark['mark']}".strip(), mark["at"])
        return found

    def words(self) -> dict[str, str]:
        """Return what must not stand in the recording, with what stands there instead."""
        return {
            str(self.folder): "/home/op/evals",
            sys.executable: "/usr/bin/python3",
            str(Path(sys.executable).parents[1]): "/opt/venv",
            os.uname().nodename: "gpu-host",
        }

    def _steps_of(self, one: Eval) -> bool:
        assert one.popen.poll() is None or one.done(), one.output()[-2000:]
        name = next(name for name, each in self.started.items() if each is one)
        return (self.folder / f"{name or 'eval'}.json.marks").exists()

    def _has_begun(self) -> bool:
        return self.recording.exists() and self.recording.stat().st_size > 0

    def _machines(self) -> list[str]:
        return list(dict.fromkeys(each.get("machine", "gpu-1") for each in self._evals()))

    def _evals(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.told.get("evals", [])
        return found

    def _config(self) -> str:
        link = self.folder / "link.sh"
        link.write_text(_LINK)
        machines = [
            {
                "name": name,
                "link": "command",
                "python": sys.executable,
                "data_dir": str(self._data_dir(name)),
                "command": ["/bin/sh", str(link), str(self.folder)],
            }
            for name in self._machines()
        ]
        cadence = {"tasks": 0.5, "samples": 1.0}
        watch = {"facts_every": 2.0, "discover_every": 0.5, **self.told.get("watch", {})}
        watch.setdefault("cadences", dict.fromkeys(CADENCES, cadence))
        return tomli_w.dumps({"machines": machines, "watch": watch})

    def _data_dir(self, machine: str) -> Path:
        folder = self.folder / f"d-{machine}"
        folder.mkdir(exist_ok=True)
        return folder

    def _start_evals(self) -> None:
        served = {"MODEL_SERVER": self.server.url}
        for each in self._evals():
            name = each.get("name", "")
            script = self.folder / f"{name or 'eval'}.json"
            script.write_text(json.dumps(each))
            one = self.evals.start(
                "scripted",
                args={"script": script, "kind": each.get("sandbox", "")},
                options=each.get("options", ()),
                keep=each.get("keep", False),
                eval_set=each.get("eval_set", False),
                data_dir=self._data_dir(each.get("machine", "gpu-1")),
                log_dir=self.folder / "disk" / "logs" if self.told.get("disk_mib") else None,
                env={**self.more, **served} if each.get("served") else self.more,
            )
            self.started[name] = one
            if "memory_mib" in each:
                (MEMORY / "memory.limit_in_bytes").write_text(f"{each['memory_mib']}M")
                (MEMORY / "cgroup.procs").write_text(str(one.pid))
        for one in self.started.values():
            wait_until(partial(self._steps_of, one), "its first step", 120)

    def _do(self, act: Mapping[str, Any], room: int) -> None:
        one = self.started.get(act.get("eval", "")) or next(iter(self.started.values()))
        match act["do"]:
            case "pause":
                one.pause(hard=act.get("hard", False))
            case "resume":
                one.resume()
            case "kill":
                one.kill()
            case "stop":
                os.kill(one.pid, signal.SIGSTOP)
            case "fill":
                filled = self.folder / "disk" / f"filled at {act['at']}"
                filled.write_bytes(bytes(act["mib"] * 2**20))
            case "serve":
                self.server.status, self.server.each = act["status"], act.get("each", 1)
            case "gpus":
                self._set_gpus(act)
            case _:
                self._do_to_room(act["do"], room)

    def _set_gpus(self, act: Mapping[str, Any]) -> None:
        """Let nvidia-smi report of each GPU: percent of use, MiB in use, and who holds them."""
        uuids = [f"GPU-{number:04d}" for number in range(len(act["busy"]))]
        rows = [
            f"{number}, {uuid}, Disabled, {used}, {busy}\n"
            for number, (uuid, busy, used) in enumerate(
                zip(uuids, act["busy"], act["used"], strict=True)
            )
        ]
        pids = {name: one.pid for name, one in self.started.items()}
        if self.stranger is not None:
            pids["stranger"] = self.stranger.pid
        apps = [
            f"{uuid}, {pids[holder]}, {used}\n"
            for uuid, holder, used in zip(uuids, act.get("holders", ()), act["used"], strict=False)
            if holder
        ]
        self.gpus.folder.mkdir(exist_ok=True)
        self.gpus.are("".join(rows), "".join(apps))

    def _do_to_room(self, what: str, room: int) -> None:
        match what:
            case "asleep":
                os.killpg(room, signal.SIGSTOP)
                self._cut()
            case "cut":
                self._cut()
            case "mend":
                (self.folder / "cut").unlink()
            case "awake":
                (self.folder / "cut").unlink()
                os.killpg(room, signal.SIGCONT)
            case other:  # a named moment, such as one at which the recording is stretched
                assert other == "look", other

    def _cut(self) -> None:
        (self.folder / "cut").touch()
        for pid in (self.folder / "link.pids").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


_LINK = """\
test -e "$1/cut" && { echo "no route to host" >&2; exit 255; }
echo $$ >>"$1/link.pids"
exec /bin/sh
"""
"""The command of a link: it fails while the file `cut` is there."""


@contextmanager
def _memory(told: Mapping[str, Any]) -> Generator[None]:
    if not any("memory_mib" in each for each in told.get("evals", ())):
        yield
        return
    MEMORY.mkdir()
    try:
        yield
    finally:
        wait_until(lambda: not (MEMORY / "cgroup.procs").read_text(), "its processes have ended")
        MEMORY.rmdir()


@contextmanager
def _disk(told: Mapping[str, Any], folder: Path) -> Generator[None]:
    """Mount a small disk for the logs, as root can."""
    if not told.get("disk_mib"):
        yield
        return
    place = folder / "disk"
    place.mkdir()
    size = f"size={told['disk_mib']}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@contextmanager
def _variables(told: Mapping[str, Any], folder: Path) -> Generator[Mapping[str, str]]:
    if not told.get("docker"):
        yield {}
        return
    with running_engine() as engine:
        yield engine.for_inspect(folder)


def record(name: str) -> None:
    """Make one recording."""
    file = FOLDER / f"{name}.toml"
    told = tomllib.loads(file.read_text())
    with (
        running_evals() as evals,
        _variables(told, evals.folder) as more,
        _disk(told, evals.folder),
        _memory(told),
    ):
        stage = Stage(told, evals, more)
        try:
            stage.run()
        finally:
            for one in stage.started.values():
                one.end()
        lines = stage.recording.read_text().splitlines()
        moments = stage.moments()
        events = [json.loads(line) for line in lines]
        events = trimmed(events, stage.words(), facts=told.get("facts", ()))
    for shift in told.get("stretch", ()):
        stretched = Stretched(moments[shift["at"]] + shift.get("plus", 0.0), shift["by"])
        events = [stretched.event(each) for each in events]
        moments = {name: stretched.time(at) for name, at in moments.items()}
    for clock in told.get("clocks", ()):
        events = [_with_clock(each, clock["machine"], clock["by"]) for each in events]
    first = events[0]["at"]
    wanted = {each["after"] for each in told.get("found", ()) if each.get("after")}
    lacking = wanted - set(moments)
    if lacking:
        raise SystemExit(f"{name}: these moments did not come: {', '.join(sorted(lacking))}")
    wanted |= {each.get("name", each["do"]) for each in told.get("acts", ())}
    named = {each: round(moments[each] - first, 2) for each in sorted(wanted)}
    written = file.read_text().partition("\n[moments]\n")[0].rstrip("\n") + "\n"
    file.write_text(written + ("\n" + tomli_w.dumps({"moments": named}) if named else ""))
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in events)
    packed = gzip.compress(text.encode(), 9, mtime=0)
    (FOLDER / f"{name}.jsonl.gz").write_bytes(packed)
    print(f"{name}: {len(events)} events, {len(packed) // 1024} kB")


def _with_clock(event: dict[str, Any], machine: str, by: float) -> dict[str, Any]:
    """Return an event with the times of a machine's own clock moved by `by` seconds."""
    of_it = machine in {event.get("machine"), *_machines_in(event)}
    if not of_it:
        return event
    moved = Stretched(0.0, by).event(event)
    if event["event"] == "ProbeAnswered":
        moved["probe"]["clock_offset"] += by
    return {**moved, **{key: event[key] for key in _DESK_TIMES if key in event}}


_DESK_TIMES = ("at", "retry_at", "last_seen_at")


def _machines_in(event: Mapping[str, Any]) -> list[str]:
    nothing: dict[str, Any] = {}
    task: dict[str, Any] = event.get("task") or nothing
    process: dict[str, Any] = event.get("process") or task.get("process") or nothing
    return [process["machine"]] if process else []


def main() -> int:
    """Record the named incidents."""
    parser = argparse.ArgumentParser(prog="record")
    parser.add_argument("names", nargs="+")
    for name in parser.parse_args().names:
        record(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
