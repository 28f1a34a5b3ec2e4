"""The second part of this program: it reads the machine's facts, traces and logs.

It arrives after the `hello`, so that the first rows need not wait for it. The first part runs it
with its own names.
"""

import sys

from ssh.shipped.probe.arrival import SECOND_PARTS
from ssh.shipped.probe.changes import number
from ssh.shipped.probe.facts import Facts
from ssh.shipped.probe.log_reads import LogReads
from ssh.shipped.probe.log_variables import variables_for
from ssh.shipped.probe.requests import Request
from ssh.shipped.probe.traces import Traces


class SecondPart:
    def __init__(self, probe, start):
        self.probe = probe
        self.log_schemes = [str(name) for name in start.get("log_schemes") or ()]
        self.traces = Traces(probe)
        self.logs = LogReads(probe)
        self.facts = Facts(probe, self.traces, number(start.get("facts_every")) or 10.0)
        self.traces.start()
        self.logs.start()
        self.facts.start()

    def tick(self, now):
        self.logs.tick(now)

    def ask(self, kind, head):
        """Carry out a request: `facts`, `logs` or `recover`."""
        if kind == "facts":
            self.facts.ask(head["id"])
        else:
            self.read_logs(head)

    def read_logs(self, head):
        asked, given, data_dir = head["asked"], head.get("pythons") or (), head.get("data_dir")
        sent = head.get("variables") or {}
        texts = [*given, *sent, *sent.values(), *([] if data_dir is None else [data_dir])]
        if not isinstance(asked, dict) or not all(isinstance(each, str) for each in texts):
            raise ValueError("not a read of logs")
        request = Request(dict(head, path=""), "logs")
        key = head.get("pid"), head.get("start")
        known, kept = self.probe.processes.log_readers.get(key, (None, {}))
        pythons = [*([known] if known else ()), *given, sys.executable]
        logs = asked.get("logs") or [asked.get("log", "")]
        variables = dict(variables_for(kept, logs), **sent)
        if data_dir is not None:
            variables["XDG_DATA_HOME"] = data_dir
        asked = dict(asked, schemes=self.log_schemes)
        self.logs.ask(request, list(dict.fromkeys(pythons)), asked, variables)


SECOND_PARTS.append(SecondPart)
