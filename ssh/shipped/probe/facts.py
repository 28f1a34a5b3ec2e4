"""Facts of the machine: puts the readings together and sends them."""

import sys
import threading
import time

from ssh.shipped.common.cgroup_limits import usable_cpus
from ssh.shipped.common.load import read_load
from ssh.shipped.common.memory import read_memory
from ssh.shipped.probe.disks import DiskReader
from ssh.shipped.probe.docker import DockerReader
from ssh.shipped.probe.frames import compact
from ssh.shipped.probe.gpus import GpuReader
from ssh.shipped.probe.inspect_version import read_inspect_version
from ssh.shipped.probe.model_servers import read_model_servers
from ssh.shipped.probe.reading import Reading

INSPECT_EVERY_S = 300.0
FIRST_PAUSE_S = 1.0  # between looks for a first reading that hangs
ASKED_WAIT_S = 5.0  # a request for facts is answered after that with what there is


class Facts(threading.Thread):
    def __init__(self, probe, traces, every):
        super().__init__(name="facts", daemon=True)
        self.probe = probe
        self.traces = traces
        self.every = max(1.0, every)
        self.wake = threading.Condition()
        self.asked = []  # (request id, when, the rounds of the readings then)
        self.gpus = self.reading("gpus", self.every, GpuReader(probe))
        self.docker = self.reading("docker", self.every, DockerReader(probe.processes, traces))
        self.inspect = self.reading(
            "inspect", max(INSPECT_EVERY_S, self.every), read_inspect_version
        )
        self.disks = self.reading("disks", self.every, DiskReader(probe))
        self.models = self.reading("models", self.every, read_model_servers)
        self.readings = (self.gpus, self.docker, self.inspect, self.disks, self.models)

    def reading(self, name, period, read):
        return Reading(name, period, read, self.on_read, lambda: self.probe.polling)

    def on_read(self):
        with self.wake:
            self.wake.notify()

    def ask(self, request_id):
        with self.wake:
            self.asked.append((request_id, time.monotonic(), [r.rounds for r in self.readings]))
            self.wake.notify()
        for reading in self.readings:
            reading.wake.set()

    def run(self):
        for reading in self.readings:
            reading.start()
        sent_at, sent = time.monotonic(), 0
        while True:
            with self.wake:
                pause = max(0.05, sent_at + self.every - time.monotonic())
                pause = min(pause, self.every if sent == len(self.readings) else FIRST_PAUSE_S)
                self.wake.wait(0.25 if self.asked else pause)
                asked, self.asked = self.asked, []
            now = time.monotonic()
            for entry in asked:
                request_id, since, rounds = entry
                is_read = all(r.rounds > n for r, n in zip(self.readings, rounds))
                if is_read or now - since > ASKED_WAIT_S:
                    self.probe.requests.forget(request_id)
                    head = {"at": time.time(), "id": request_id}
                    self.probe.frames.reply("facts", head, self.body())
                else:
                    with self.wake:
                        self.asked.append(entry)
            # The first facts go as they come; later ones once a period.
            known = sum(reading.standing()[0] != "unknown" for reading in self.readings)
            if self.probe.polling and (known > sent or now - sent_at >= self.every * 0.9):
                sent, sent_at = known, now
                head = {"at": time.time(), "id": None}
                self.probe.frames.state("facts", "facts", head, self.body())

    def body(self):
        gpu_state, gpu_since, gpu_error = self.gpus.standing()
        docker_state, docker_since, docker_error = self.docker.standing()
        inspect_state, _, inspect_error = self.inspect.standing()
        tool, gpus, warning = self.gpus.value or (None, [], None)
        docker, unseen = self.docker.value or {}, self.traces.unseen()
        return compact(
            {
                "at": round(time.time(), 1),
                "cpus": usable_cpus(),
                "load": [round(value, 2) for value in read_load()],
                "memory": read_memory(),
                "disks": self.disks.value or [],
                "gpus": gpus,
                "gpu_tool": tool,
                "gpu_state": gpu_state,
                "gpu_since": gpu_since,
                "gpu_error": gpu_error or warning,
                "docker": {
                    "state": docker_state,
                    "since": docker_since,
                    "error": docker_error,
                    "version": docker.get("version"),
                    "containers": docker.get("containers", []),
                    "total": docker.get("total", 0),
                    "unlisted": docker.get("unlisted", []),
                    "unseen": [{"pid": pid, "start": start} for pid, start in unseen],
                },
                "inspect": {
                    "state": inspect_state,
                    "version": self.inspect.value,
                    "python": sys.executable,
                    "error": inspect_error,
                },
                "model_servers": self.models.value,
                "clock": time.time(),
            }
        )
