"""A preflight over the real OpenSSH: of an account that may little, and of one that may all."""

import sys
from pathlib import Path

import pytest

from core.ids import MachineName
from tests.support.desk_on_evals import watching
from tests.support.reached import machine_of, trusting
from tests.support.specs import plan, spec
from tests.support.sshd import SUPER, Sshd
from tests.support.surveys import preflight, texts
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("launches")

EVAL = """\
task = "evalroom/smoke"
model = "openai-api/acme/x"
machine = "alice"
on_error = "stop"
python = "/usr/bin/python3"
log_dir = "/etc/evalroom-logs"
engine = "tmux"
base_url = "http://localhost:1/v1"
"""


async def test_an_account_with_few_rights_gets_a_list_of_all_that_it_lacks(
    sshd: Sshd, folder: Path
) -> None:
    machine = machine_of(sshd)
    made = plan(spec(text=EVAL), machine=machine)
    async with watching([machine], trusting(sshd, folder), read_only=True) as watched:
        desk = watched.desk
        await desk.first_poll(WAIT_S)
        checks = await preflight(desk, made, machine, desk.fleet, secrets=(), deadline=WAIT_S)
    lines = texts(checks)
    for says in (
        "stop Inspect: /usr/bin/python3 does not have Inspect; ",
        "stop log folder: /etc is not writable; choose another log_dir",
        "stop variables: openai-api/acme/x needs ACME_API_KEY, which neither the spec nor",
        "warning network: the model's server localhost:1 is not reachable from the machine: ",
    ):
        assert any(each.startswith(says) for each in lines), (says, lines)
    assert any(each.name == "python" and "as alice" in each.message for each in checks)
    assert not (sshd.home("alice") / ".evalroom").exists(), "a look changes nothing"


async def test_a_machine_where_all_is_well_says_so(sshd: Sshd, folder: Path) -> None:
    machine = machine_of(sshd, SUPER, name=MachineName("local"), python=sys.executable)
    made = plan(spec(), machine=machine)
    async with watching([machine], trusting(sshd, folder), read_only=True) as watched:
        desk = watched.desk
        await desk.first_poll(WAIT_S)
        checks = await preflight(desk, made, machine, desk.fleet, secrets=(), deadline=WAIT_S)
        assert [each for each in texts(checks) if each.startswith("stop")] == []
        assert "Inspect 0.3." in next(each.message for each in checks if each.name == "Inspect")
        # The link goes; what is asked then says so.
        sshd.stop()
        try:
            await watched.until(
                lambda: desk.fleet.machines[machine.name].link.reason is not None, "it is down"
            )
            [check] = await preflight(desk, made, machine, desk.fleet, secrets=(), deadline=WAIT_S)
        finally:
            sshd.start()
    assert check.name == "link"
    assert check.message.startswith("local is not reachable: ")
