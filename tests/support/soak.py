"""Five machines behind bad networks, evals that start and end on them, and the room over all.

The room is the real program in a real tmux; each row of it is held against the log of its eval.
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGINT, SIGKILL, Signals
from typing import Any

from tests.bench.rooms import home_env
from tests.support.eval_truth import Truth, line_of, lines_on, rows_by_eval, truth_of
from tests.support.evals import short_folder
from tests.support.far_machines import FarEval, FarMachine, far_machines
from tests.support.observed_room import ask
from tests.support.tmux import Tmux, in_tmux
from tests.support.tree import ROOT
from tests.support.tun_network import Lane, TunNetwork
from tests.support.waiting import wait_until

MACHINES = 5
EVAL_EVERY_S = 45.0
KEYS_EVERY_S = 15.0
CHECK_EVERY_S = 10.0
LONG_DARK_S = 240.0
COLUMNS, LINES = 200, 150

KINDS: dict[str, Lane] = {
    "fair": Lane(delay_ms=10),
    "far": Lane(delay_ms=250, jitter_ms=50),
    "lossy": Lane(delay_ms=40, loss=0.05),
    "very lossy": Lane(delay_ms=40, loss=0.3),
    "thin": Lane(delay_ms=150, rate_kbit=64),
    "dark": Lane(out_is_dark=True, back_is_dark=True),
    "dark out": Lane(out_is_dark=True),
    "dark back": Lane(back_is_dark=True),
}
SPELLS = ("fair", "fair", "fair", "far", "lossy", "very lossy", "thin", "dark", "dark",
          "dark out", "dark back", "reset", "long dark")  # fmt: skip
TOUR = (
    ("2", "j", "Enter"), ("Escape",), ("3", "j", "Enter"), ("Escape",), ("1", "j", "Enter"),
    ("Escape",), ("4", "j", "Enter"), ("Escape",), ("5", "j"), ("J",), ("Escape",), ("W",),
    ("Escape",), ("N",), ("Escape",), ("2", "G"), ("2", "g"), (":",), ("Escape",), ("?",),
    ("Escape",), ("/", "e", "Enter"), ("Escape",),
)  # fmt: skip
"""Keys that show every screen and change nothing."""


@dataclass(kw_only=True)
class Planned:
    """How an eval is made, and what the test does to it."""

    task: str
    args: dict[str, object]
    options: tuple[str, ...] = ()
    sign: Signals | None = None
    after: float = 0.0


def planned(rng: random.Random) -> Planned:
    """Return one more eval; it takes between a quarter of a minute and two."""
    seconds = rng.choice((15, 30, 60, 90))
    turns = {"samples": 6, "turns": seconds // 3, "sleep": 3}
    kind = rng.choice(("success", "success", "errors", "fatal", "cancelled", "killed"))
    match kind:
        case "errors":
            args: dict[str, object] = {"samples": 9, "always": 3, "first": 0, "sleep": seconds / 2}
            return Planned(task="errors", args=args, options=("--no-fail-on-error",))
        case "fatal":
            args = {"samples": 6, "always": 3, "first": 0, "sleep": seconds / 2, "fatal": True}
            return Planned(task="errors", args=args)
        case "cancelled":
            return Planned(task="turns", args={**turns, "turns": 100}, sign=SIGINT,
                           after=seconds)  # fmt: skip
        case "killed":
            return Planned(task="turns", args={**turns, "turns": 100}, sign=SIGKILL,
                           after=seconds)  # fmt: skip
        case _:
            return Planned(task="turns", args=dict(turns))


@dataclass
class Known:
    """An eval, what is done to it, and when it ended."""

    eval: FarEval
    plan: Planned
    started_at: float
    ended_at: float | None = None
    signalled: bool = False


@dataclass
class Soak:
    """The scene.

    Attributes:
        lies: What a row said falsely, and when.
    """

    folder: Path
    machines: list[FarMachine]
    network: TunNetwork
    rng: random.Random
    say: Callable[[str], None]
    evals: list[Known] = field(default_factory=list[Known])
    lies: list[str] = field(default_factory=list[str])
    kinds: dict[int, tuple[str, float]] = field(default_factory=dict[int, tuple[str, float]])

    # -- the room

    @contextmanager
    def room(self, name: str) -> Generator["SoakRoom", None, None]:
        """Open the room on all machines; its history stays in the folder."""
        config = self.folder / "config.toml"
        known_hosts = self.folder / "known_hosts"
        pairs = list(zip(self.machines, self.network.addresses, strict=True))
        known_hosts.write_text("".join(m.known_hosts_line(address) for m, address in pairs))
        config.write_text("".join(self._machine_config(*pair, known_hosts) for pair in pairs))
        config.chmod(0o600)
        socket = self.folder / f"{name}.sock"
        command = [sys.executable, "-m", "tests.support.observed_room", str(socket), "--config",
                   str(config)]  # fmt: skip
        env = {**home_env(self.folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        with in_tmux(self.folder, command, columns=COLUMNS, lines=LINES, env=env) as tmux:
            wait_until(socket.exists, "the room listens")
            tmux.until("Machines")
            room = SoakRoom(tmux, socket)
            try:
                yield room
            finally:
                tmux.keys("q")
                time.sleep(0.5)
                if tmux.is_alive():
                    tmux.keys("Enter")
                tmux.until_gone(60)

    def _machine_config(self, machine: FarMachine, address: str, known_hosts: Path) -> str:
        """Return the lines of one machine; the last one is reached by ssh and a ControlMaster."""
        lines = f'[[machines]]\nname = "{machine.name}"\npython = "{sys.executable}"\n'
        if machine is not self.machines[-1]:
            return lines + (
                f'host = "{address}"\nuser = "root"\nidentity = "{machine.sshd.key}"\n'
                f'known_hosts = "{known_hosts}"\nssh_config = "none"\n'
            )
        command = [
            "ssh", "-F", "none", "-i", str(machine.sshd.key),
            "-o", f"UserKnownHostsFile={known_hosts}", "-o", f"ControlPath={self.folder}/c",
            "-o", "ControlMaster=auto", "-o", "ControlPersist=15", f"root@{address}",
        ]  # fmt: skip
        return f'{lines}link = "command"\ncommand = {json.dumps(command)}\n'

    # -- the weather

    def change_weather(self, now: float) -> None:
        """Bring the next spell to each lane whose spell is over."""
        for number, machine in enumerate(self.machines):
            _, until = self.kinds.get(number, ("", 0.0))
            if now < until:
                continue
            kind = self.rng.choice(SPELLS)
            seconds = LONG_DARK_S if kind == "long dark" else self.rng.uniform(10, 60)
            self.kinds[number] = kind, now + seconds
            self.say(f"{machine.name}: {kind} for {seconds:.0f} s")
            if kind == "reset":
                self.network.set(number, KINDS["fair"])
                machine.reset()
            else:
                self.network.set(number, KINDS["dark" if kind == "long dark" else kind])

    def clear(self) -> None:
        """Bring fair weather to all lanes."""
        for number in range(len(self.machines)):
            self.network.set(number, KINDS["fair"])

    # -- the evals

    def start_eval(self, machine: FarMachine, plan: Planned) -> None:
        """Start one more eval."""
        one = machine.start_eval(len(self.evals), plan.task, plan.args, plan.options)
        self.evals.append(Known(one, plan, time.time()))

    def tend_evals(self) -> None:
        """Note which evals ended, and send the signals that are due."""
        now = time.time()
        for known in self.evals:
            if known.ended_at is None and known.eval.has_ended():
                known.ended_at = now
            plan = known.plan
            is_due = plan.sign is not None and now - known.started_at > plan.after + 8
            if is_due and not known.signalled and known.ended_at is None:
                if known.eval.log() is None:
                    continue  # it still starts
                assert plan.sign is not None
                known.signalled = True
                known.eval.signal(plan.sign)

    def pass_by(self, minutes: float, room: "SoakRoom") -> None:
        """Let so many minutes of weather pass."""
        end = time.time() + minutes * 60
        due = {self._one_more: EVAL_EVERY_S, self._look: CHECK_EVERY_S, self._press: KEYS_EVERY_S}
        next_at = {each: time.time() + every for each, every in due.items()}
        while time.time() < end:
            now = time.time()
            self.change_weather(now)
            self.tend_evals()
            for each, every in due.items():
                if now >= next_at[each]:
                    next_at[each] = now + every
                    each(room)
            time.sleep(1)

    def _one_more(self, room: "SoakRoom") -> None:
        del room
        self.start_eval(self.machines[len(self.evals) % MACHINES], planned(self.rng))

    def _press(self, room: "SoakRoom") -> None:
        room.press_next()

    def _look(self, room: "SoakRoom") -> None:
        answer = room.ask()
        found = self.contradictions(answer)
        self.lies += [lie for lie in found if lie not in self.lies]
        self.say(json.dumps({"held": answer["held"], "lies": found}))

    # -- the truth

    def contradictions(self, answer: dict[str, Any]) -> list[str]:
        """Return the rows that say something false now."""
        found: list[str] = []
        rows = rows_by_eval(answer)
        for known in self.evals:
            row = rows.get(known.eval.number)
            if row is None:
                continue
            state, heard_at = row["state"], answer["at"] - row["age_seconds"]
            ended_at = known.ended_at
            if state in {"running", "finishing"}:
                if state == "running" and ended_at is not None and heard_at > ended_at + 3:
                    found.append(f"e{known.eval.number} runs, heard {heard_at - ended_at:.0f} s "
                                 "after its end")  # fmt: skip
            elif state != "unreadable":
                truth = truth_of(known.eval.log()) if ended_at is not None else None
                said = truth.state if truth else "running"
                if said != state:
                    found.append(f"e{known.eval.number} is called {state}, and is {said}")
        return found

    def final_contradictions(self, answer: dict[str, Any]) -> list[str]:
        """Return all in which the rows of ended evals differ from their logs."""
        found: list[str] = []
        rows = rows_by_eval(answer)
        for known in self.evals:
            row, truth = rows.get(known.eval.number), truth_of(known.eval.log())
            if row is None or known.ended_at is None or truth is None:
                continue
            log: dict[str, Any] = row["log"] or {}
            samples: dict[str, int] = log.get("samples") or {}
            scores = [each["value"] for each in row["scores"] if each["name"] == "accuracy"]
            said = Truth(
                state=row["state"],
                completed=samples.get("completed", 0),
                errored=samples.get("errored", 0),
                cancelled=samples.get("cancelled", 0),
                score=scores[0] if scores else None,
            )
            if said != truth and not (said.state == truth.state == "lost"):
                found.append(f"e{known.eval.number} of {known.eval.machine}: {said}, not {truth}")
        return found

    def screen_contradictions(self, screen: str) -> list[str]:
        """Return the lines of ended evals on a screen that no log bears out."""
        ended = [known for known in self.evals if known.ended_at is not None]
        true = Counter(
            line_of(known.eval.machine, known.plan.task, truth)
            for known in ended
            if (truth := truth_of(known.eval.log())) is not None
        )
        return [" ".join(line) for line in (Counter(lines_on(screen)) - true).elements()]

    def until_ended(self, living: int, seconds: float) -> None:
        """Wait until all evals but the first `living` have ended."""

        def have_ended() -> bool:
            self.tend_evals()
            return all(known.ended_at is not None for known in self.evals[living:])

        wait_until(have_ended, "the evals ended", seconds, every=1.0)

    def seen_ended(self, answer: dict[str, Any]) -> int:
        """Return how many evals have ended and have a row."""
        rows = rows_by_eval(answer)
        return sum(k.ended_at is not None and k.eval.number in rows for k in self.evals)

    def missing(self, answer: dict[str, Any]) -> list[int]:
        """Return the evals that have a log and no row."""
        rows = rows_by_eval(answer)
        return [k.eval.number for k in self.evals if k.eval.log() and k.eval.number not in rows]


@dataclass
class SoakRoom:
    """The room in its terminal, and its observer."""

    tmux: Tmux
    socket: Path
    _turn: int = 0

    def ask(self, what: str = "") -> dict[str, Any]:
        """Return what it knows and holds (`tests/support/observed_room.py`)."""
        return ask(self.socket, what)

    def press_next(self) -> None:
        """Press the next keys of the tour."""
        self.tmux.keys(*TOUR[self._turn % len(TOUR)])
        self._turn += 1

    def tour(self) -> None:
        """See every screen once."""
        for keys in TOUR:
            self.tmux.keys(*keys)
            time.sleep(1)

    def until(self, wanted: Callable[[dict[str, Any]], object], what: str, seconds: float) -> None:
        """Wait until its answer is as wanted."""

        def seen() -> str:
            answer = self.ask()
            machines = [(m["name"], m["state"], m["reason"]) for m in answer["fleet"]["machines"]]
            tasks = [(t["machine"], t["task"], t["state"]) for t in answer["fleet"]["tasks"]]
            return f"{machines}\n{tasks}\n{self.tmux.screen()}"

        wait_until(lambda: wanted(self.ask()), what, seconds, every=1.0, seen=seen)


def all_are_up(answer: dict[str, Any]) -> bool:
    """Whether every link is up."""
    return all(each["state"] == "up" for each in answer["fleet"]["machines"])


def none_is_finishing(answer: dict[str, Any]) -> bool:
    """Whether no task waits for its log."""
    states = {each["state"] for each in answer["fleet"]["tasks"]}
    return not states & {"finishing", "unreadable"}


@contextmanager
def soak(say: Callable[[str], None], seed: int = 7) -> Generator[Soak, None, None]:
    """Yield the scene: the machines run, in fair weather, each with one eval that lives on."""
    with short_folder() as folder, far_machines(folder, MACHINES) as (machines, network):
        scene = Soak(folder, machines, network, random.Random(seed), say)
        scene.clear()
        for machine in machines:
            args: dict[str, object] = {"samples": 6, "turns": 100_000, "sleep": 5}
            scene.start_eval(machine, Planned(task="turns", args=args))
        try:
            yield scene
        finally:
            for known in scene.evals:
                known.eval.end()
