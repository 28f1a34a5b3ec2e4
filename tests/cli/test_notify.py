"""Notifications, sent by Apprise to a real server."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.wiring.notifications import AppriseSender
from core.config.notify import NotifyRule
from core.judge.finding_list import with_findings
from core.model.finding import Finding
from core.notify.notifier import Notifier
from core.notify.outbox import GATHER_S
from storage.secrets import Secrets
from tests.support.commands import Home, machine
from tests.support.fleets import H1, NOW, running_fleet


@contextmanager
def server(status: int = 200) -> Generator[tuple[str, list[Any]], None, None]:
    """Serve on loopback; yield an address for Apprise and what was posted."""
    posted: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.append(json.loads(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Print nothing."""

    here = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=here.serve_forever)
    thread.start()
    try:
        yield f"json://127.0.0.1:{here.server_port}/", posted
    finally:
        here.shutdown()
        thread.join()
        here.server_close()


def configured(home: Home, address: str) -> None:
    """Let the config name a secret, and store this address in it."""
    home.configure(machine("here") + '[[notify]]\nto = "CHAT"\nevery = 60\n')
    stored = home.run("secrets", "set", "CHAT", typed=address.encode())
    assert stored.status == 0, stored.err


def test_a_test_message_reaches_the_address(home: Home) -> None:
    with server() as (address, posted):
        configured(home, address)
        ran = home.run("notify", "test")
        assert (ran.status, ran.out, ran.err) == (0, "sent to CHAT\n", "")
        assert posted[0]["title"] == "evalroom: a test"
        assert home.run("notify", "test", "--json").json == {
            "messages": [{"to": "CHAT", "sent": True, "error": None}]
        }


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("json://127.0.0.1:1/hidden", "can't be reached"),
        ("no address: hidden", "does not hold an address that Apprise knows"),
    ],
)
def test_what_fails_is_said_without_the_address(home: Home, address: str, words: str) -> None:
    configured(home, address)
    ran = home.run("notify", "test")
    assert ran.status == 1
    assert words in ran.err
    assert "hidden" not in ran.out + ran.err


def test_a_missing_secret_and_a_missing_table_are_said(home: Home) -> None:
    home.configure(machine("here"))
    assert "no [[notify]] table" in home.run("notify", "test").err
    home.configure(machine("here") + '[[notify]]\nto = "CHAT"\n')
    ran = home.run("notify", "test")
    assert ran.status == 1
    assert "evalroom secrets set CHAT" in ran.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[notify]]\nto = "slack://token/hidden"\n', "the name of a secret"),
        ('[[notify]]\nseverity = "alarm"\n', "this rule has no address"),
        ('[[notify]]\nto = "CHAT"\nquiet = "22-7"\n', 'like "22:00-07:00"'),
        ('[notify]\nto = "CHAT"\n', "write [[notify]] before each rule"),
        ('[[notify]]\nto = "CHAT"\nevry = 9\n', 'mean "every"'),
    ],
)
def test_a_wrong_rule_is_named(home: Home, text: str, words: str) -> None:
    home.configure(machine("here") + text)
    ran = home.run("config", "check")
    assert ran.status == 1
    assert words in ran.err
    assert "hidden" not in ran.err


def test_the_config_is_shown_as_it_holds(home: Home) -> None:
    tags = 'tags = ["prod"]\n'
    rule = '[[notify]]\nto = "CHAT"\nquiet = "22:00-07:30"\ntags = ["prod"]\n'
    home.configure(machine("here") + tags + rule)
    shown = home.run("config", "show").out
    home.configure(shown)
    assert home.run("config", "check").status == 0
    again = home.run("config", "show").out.partition("[[notify]]")[2]
    assert again == shown.partition("[[notify]]")[2]
    assert 'quiet = "22:00-07:30"' in again


async def test_a_room_sends_what_opens_and_says_when_it_can_t(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "secrets")
    alarm = Finding(
        id="a", kind="stall", severity="alarm", opened_at=NOW, machine=H1, text="agent's words"
    )
    fleet, now, said = running_fleet(), [NOW], list[str | None]()
    with server() as (address, posted):
        await secrets.set("CHAT", "json://127.0.0.1:1/")
        notifier = Notifier(
            (NotifyRule(secret="CHAT", every=60),), fleet=lambda: fleet, now=lambda: now[0],
            sender=AppriseSender(secrets), report=said.append,
        )  # fmt: skip
        fleet = with_findings(fleet, [alarm])
        for seconds in (0, GATHER_S):
            now[0] = NOW + seconds
            await notifier.send_due()
        assert len(said) == 1
        assert "CHAT was not sent" in (said[0] or "")
        await secrets.set("CHAT", address)
        for seconds in (70, 90):
            now[0] = NOW + GATHER_S + seconds
            await notifier.send_due()
        assert said[1:] == [None]
    [message] = posted
    assert message["title"] == "evalroom: alarm stall on h100-1"
    assert "agent's words" not in json.dumps(message)
