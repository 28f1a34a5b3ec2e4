"""A sandboxed agent that looks like an eval is not asked, followed or signalled."""

from typing import Any

from tests.hostile.sandboxed import sandboxed_agent
from tests.support.direct_probe import direct_probe
from tests.support.evals import short_folder
from tests.support.processes import lives


def test_nothing_that_a_sandboxed_agent_says_of_itself_is_followed() -> None:
    with short_folder() as folder, sandboxed_agent(folder / "data") as agent:
        with direct_probe(folder / "data", read_only=False) as probe:

            def listed() -> list[dict[str, Any]]:
                return [row for row in probe.processes() if row["pid"] == agent.pid]

            [row] = probe.until(listed)
            assert row["container"], row
            assert (row["python"], row["cwd"], row["socket_path"]) == (None, None, None)
            place = {"pid": row["pid"], "start": row["start"]}
            for kind, more in (("signal", {"signal": "KILL"}), ("get", {"path": "/tasks"})):
                reply = probe.reply(probe.ask(kind, **place, **more))
                assert reply.head["error"].startswith("not sent"), reply
        assert agent.asked == b""
        assert lives(agent.pid)
