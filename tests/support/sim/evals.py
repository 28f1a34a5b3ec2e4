"""Evals that exist only as numbers: what a simulated machine's probe would be answered.

One machine has `processes` evals of one task each with `samples` running samples. Samples change
in turn, `changing` of them each second, over the whole machine.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class SimEval:
    """One simulated eval: a process with one task."""

    machine: str
    number: int
    samples: int
    started_at: float
    changed_at: list[float] = field(default_factory=list[float])
    tokens: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self.changed_at = [self.started_at] * self.samples
        self.tokens = [100] * self.samples

    @property
    def pid(self) -> int:
        """Its process id."""
        return 1000 + self.number

    @property
    def start(self) -> str:
        """What tells its pid from a reused one."""
        return f"sim:{self.number}"

    @property
    def task_id(self) -> str:
        """Of its one task."""
        return f"T{self.machine}x{self.number:03d}".ljust(22, "0")

    @property
    def eval_id(self) -> str:
        """Of its one attempt."""
        return f"E{self.machine}x{self.number:03d}".ljust(22, "0")

    def process(self) -> dict[str, Any]:
        """Return its entry of a `processes` frame."""
        return {
            "pid": self.pid,
            "start": self.start,
            "run_id": f"R{self.number}",
            "started_at": self.started_at,
            "api_version": 8,
            "socket_path": f"/sim/{self.pid}.sock",
            "data_dir": "/sim",
            "found": "record",
            "alive": True,
            "channel": "ok",
            "waiting_since": None,
            "took": 0.001,
            "argv": ["inspect", "eval", "sim.py"],
            "run": None,
            "variables": [],
            "cwd": "/sim",
            "python": "python3",
            "ended_at": None,
            "unsignalled": None,
            "logs": [],
            "container": None,
            "is_stopped": False,
            "slow_polls": [],
            "killed": "",
        }

    def change(self, index: int, now: float) -> None:
        """One sample moved on."""
        self.changed_at[index] = now
        self.tokens[index] += 120

    def answer(self, path: str, now: float) -> bytes | None:
        """Return what `GET path` would; None: no such route here."""
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        if parts.path == "/tasks":
            return json.dumps([self._task()]).encode()
        if parts.path == f"/evals/{self.eval_id}/samples":
            since = float(query.get("active_since", ["0"])[0])
            limit = int(query.get("limit", ["100"])[0])
            return json.dumps(self._samples(since, limit, now)).encode()
        return None

    def _task(self) -> dict[str, Any]:
        return {
            "run_id": f"R{self.number}",
            "eval_id": self.eval_id,
            "task": f"task_{self.number}",
            "task_id": self.task_id,
            "model": "mockllm/model",
            "solver": "generate",
            "log_location": f"/sim/logs/{self.task_id}.eval",
            "status": "running",
            "started_at": self.started_at,
            "completed_at": None,
            "paused": None,
            "paused_now": None,
            "quiesced": False,
            "held": 0,
            "resolving": None,
            "attempts": 1,
            "epochs": 1,
            "samples": {
                "total": self.samples * 2,
                "completed": 0,
                "errored": 0,
                "cancelled": 0,
                "in_flight": self.samples,
                "queued": self.samples,
            },
            "total_tokens": sum(self.tokens),
            "tokens_per_second": 10.0,
            "total_messages": 20,
            "refusals": 0,
            "http_retries": 0,
            "keep_alive": False,
            "process_paused": False,
            "process_paused_now": False,
            "paused_models": [],
            "api_version": 8,
        }

    def _samples(self, since: float, limit: int, now: float) -> dict[str, Any]:
        rows = [i for i in range(self.samples) if self.changed_at[i] >= since]
        return {
            "as_of": now,
            "counts": {
                "running": self.samples,
                "completed": 0,
                "error": 0,
                "cancelled": 0,
                "pending": self.samples,
                "queued": 0,
            },
            "samples": [self._sample(i, now) for i in rows[:limit]],
            "truncated": len(rows) > limit,
        }

    def _sample(self, index: int, now: float) -> dict[str, Any]:
        return {
            "sample_id": index + 1,
            "epoch": 1,
            "status": "running",
            "started_at": self.started_at,
            "completed_at": None,
            "total_time": now - self.started_at,
            "total_tokens": self.tokens[index],
            "message_count": 6,
            "turn_count": self.tokens[index] // 120,
            "token_limit_usage": None,
            "token_limit_total": None,
            "token_limit_type": None,
            "last_activity_at": self.changed_at[index],
            "activity": {
                "type": "tool",
                "count": 1,
                "started_at": self.changed_at[index],
                "detail": "bash",
                "retries": None,
                "deadline": None,
                "calls": [
                    {
                        "id": f"call_{index}",
                        "function": "bash",
                        "started_at": self.changed_at[index],
                        "cancel_requested": False,
                    }
                ],
                "tokens": None,
                "last_progress_at": None,
            },
            "events": 12,
            "scores": {},
            "error": None,
            "retries": None,
            "limit": None,
            "limit_reason": None,
            "interrupt": None,
        }
