"""A host that sends what it likes slows only itself: the room answers keys, and stays small."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.config.file import check_config
from core.ids import MachineName
from core.model.machine import LinkState
from tests.bench.rooms import key_delays, room, until_shown
from tests.bench.rows import percentile
from tests.hostile.host import ATTACKS, PID, machine_of
from tests.support.coroutines import run_async
from tests.support.desk_on_evals import watching
from tests.support.usage import resident_mib
from tests.support.waiting import turns_for

MAX_MIB = 400.0
MAX_DELAY_S = 0.1
EVIL, GOOD = MachineName("evil"), MachineName("good")


@dataclass
class Flooded:
    """A room under a flood, beside one without: how late its keys were, seconds; memory, MiB."""

    delays: list[float] = field(default_factory=list[float])
    calm: list[float] = field(default_factory=list[float])
    memory: float = 0.0

    def check(self, share: float) -> None:
        """Check its memory, and that this share of its keys was answered in time.

        This computer may be busy, and the hosts of the test run on it too: keys of the room
        without a flood, pressed in turn with the others, say what that costs.
        """
        assert self.memory < MAX_MIB
        assert len(self.delays) >= 10
        assert percentile(self.delays, share) < MAX_DELAY_S + percentile(self.calm, share)


def flooded(folder: Path, *attacks: str, seconds: float) -> Flooded:
    """Open the real room on hostile hosts and an honest one for `seconds`, and press keys."""
    found, start = Flooded(), folder / "start"
    honest = machine_of("honest", "good")
    names = ["evil", *(f"evil{number}" for number in range(2, len(attacks) + 1))]
    hosts = [
        machine_of(attack, name, starts_at=start)
        for attack, name in zip(attacks, names, strict=True)
    ]
    for name in ("flooded", "calm"):
        (folder / name).mkdir()
    with (
        room(folder / "flooded", honest + "".join(hosts)) as terminal,
        room(folder / "calm", honest) as other,
    ):
        for each in (terminal, other):
            until_shown(each, r"good +task 0", 60)  # later, other rows may be before it
        start.touch()
        for _ in turns_for(seconds):
            found.delays += key_delays(terminal, "jk", pause=0.1)
            found.calm += key_delays(other, "jk", pause=0.1)
            found.memory = max(found.memory, resident_mib(terminal.process.pid))
            assert terminal.process.poll() is None, terminal.screen()
    return found


def test_a_flooded_room_answers_keys_and_stays_small(tmp_path: Path) -> None:
    flooded(tmp_path, "in-turn", seconds=20).check(0.5)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_minutes_of_floods(tmp_path: Path) -> None:
    flooded(tmp_path, "in-turn", seconds=600).check(0.9)


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(set(ATTACKS) - {"in-turn", "honest"}))
def test_each_flood_alone(attack: str, tmp_path: Path) -> None:
    flooded(tmp_path, attack, seconds=20).check(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["in-turn", "many-samples", "small-tasks", "parts"])
def test_five_hostile_hosts_at_once(attack: str, tmp_path: Path) -> None:
    flooded(tmp_path, *[attack] * 5, seconds=45).check(0.5)


@pytest.mark.parametrize(
    ("attack", "what"),
    [("many-processes", "processes"), ("small-tasks", "tasks"), ("many-facts", "facts")],
)
async def test_what_is_left_out_is_said_and_the_honest_machine_goes_on(
    attack: str, what: str, tmp_path: Path
) -> None:
    text = machine_of("honest", "good") + machine_of(attack)
    config, errors = check_config(text, tmp_path / "config.toml")
    assert not errors
    async with watching(config.machines, tmp_path / "known_hosts") as watched:

        def is_said() -> bool:
            fleet = watched.fleet
            machine = fleet.machines[EVIL]
            finding = any(each.kind == "limits" for each in fleet.findings)
            return finding and getattr(machine.left_out, what) > 0

        def done() -> int:
            tasks = [task for key, task in watched.fleet.tasks.items() if key.machine == GOOD]
            return max((task.row.samples.completed for task in tasks), default=0)

        await watched.until(is_said, f"{what} are left out, and that is said")
        before = done()
        await watched.until(lambda: done() > before, "the honest machine goes on")
        fleet = watched.fleet
        assert fleet.machines[EVIL].link.state is LinkState.UP
        assert sum(key.machine == EVIL for key in fleet.processes) <= 2_000
        assert sum(key.machine == EVIL for key in fleet.tasks) <= 2_000
        [finding] = [each for each in fleet.findings if each.kind == "limits"]
        assert "evil sends more than evalroom keeps" in finding.text


async def test_a_head_that_never_ends_ends_its_link_alone(tmp_path: Path) -> None:
    text = machine_of("honest", "good") + machine_of("endless-line")
    config, _ = check_config(text, tmp_path / "config.toml")
    async with watching(config.machines, tmp_path / "known_hosts") as watched:

        def is_down() -> bool:
            link = watched.fleet.machines[EVIL].link
            return link.state is LinkState.DOWN and "invalid data" in (link.reason or "")

        def is_up() -> bool:
            return watched.fleet.machines[GOOD].link.state is LinkState.UP

        await watched.until(is_up, "the link of the honest machine is up")
        await watched.until(is_down, "its link is down")
        assert is_up()


def test_the_attacker_is_what_a_probe_is_to_the_desk(tmp_path: Path) -> None:
    """Without an attack it is an honest machine, so that an attack fails for what it sends."""
    config, _ = check_config(machine_of("honest", "good"), tmp_path / "config.toml")
    assert config.machines[0].command[0] == sys.executable

    async def see() -> None:
        async with watching(config.machines, tmp_path / "known_hosts") as watched:
            await watched.until(lambda: len(watched.fleet.tasks) == 3, "its tasks are there")
            assert {key.process.pid for key in watched.fleet.tasks} == {PID}

    run_async(see())
