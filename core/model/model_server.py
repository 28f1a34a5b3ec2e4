"""A model server that runs on a machine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """A model server of a machine, found by its process.

    Attributes:
        pid: Its process id.
        kind: `vllm`, `sglang` or `ollama`.
        port: The port at which it was asked for its health.
        health: `ok`, `refused` (nobody listens there), `silent` (no answer in time), or `status`
            with the number of an HTTP answer.
        waiting: Requests that wait in it; None: it does not say.
        model: The model that its command line names; empty: none.
        started_at: When its process started, Unix seconds on the host's clock; None: unknown.
    """

    pid: int
    kind: str
    port: int
    health: str = "ok"
    waiting: int | None = None
    model: str = ""
    started_at: float | None = None

    @property
    def key(self) -> tuple[int, int]:
        """What tells it apart on its machine: pid and port."""
        return self.pid, self.port
