"""A mutation for a process whose pid another one took does not leave the probe."""
# pyright: standard
# The shipped programs have no types.

from types import SimpleNamespace

import pytest

from ssh.shipped.probe import eval_client
from ssh.shipped.probe.requests import Request


class Answers:
    """The report of a probe."""

    def __init__(self) -> None:
        self.errors: list[str | None] = []

    def answer(self, request: object, status: object, error: str | None, *rest: object) -> None:
        """Keep the error of an answer."""
        del request, status, rest
        self.errors.append(error)


@pytest.mark.parametrize(("method", "leaves"), [("POST", False), ("PATCH", False), ("GET", True)])
def test_only_a_read_goes_to_what_listens_under_a_pid_that_was_reused(
    monkeypatch: pytest.MonkeyPatch, method: str, leaves: bool
) -> None:
    """The socket of both has the same name; the start of the process tells them apart."""

    def start_of(*_: object) -> str:
        return "boot-2"

    monkeypatch.setattr(eval_client, "start_of", start_of)
    answers = Answers()
    process = SimpleNamespace(pid=7, start="boot-1", started_at=None)
    client = eval_client.EvalClient(SimpleNamespace(requests=answers), process)
    asked: list[str] = []

    def timed(method: str, *_: object) -> tuple[float, float, int, bytes, None]:
        asked.append(method)
        return 0.0, 0.0, 200, b"{}", None

    monkeypatch.setattr(client, "timed", timed)
    client.carry_out(Request({"id": 1, "path": "/pause"}, method))
    assert asked == (["GET"] if leaves else [])
    expected = None if leaves else "not sent: pid 7 is another process now"
    assert answers.errors == [expected]
    assert client.asking is None
