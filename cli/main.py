"""Where all meet: words are parsed first, what they need is imported then.

This is the only place that knows the links, the storage and the screens at once, and the only
one that catches what nobody expected.
"""

import asyncio
import gc
import importlib
import itertools
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import cause_of, ended_by, keep_crash, run_loop, version
from cli.library_output import begin
from cli.parser.arguments import Words, parsed
from cli.wiring.desk import (
    WallClock,
    acting_of,
    desk_of,
    guiding_of,
    history_of,
    keep_at_once,
    running,
)
from core.errors import UsageWrong
from core.text import shown

if TYPE_CHECKING:
    from cli.commands.demo import Demo
    from core.config.model import Config
    from core.desk.desk import Desk
    from tui.app import RoomApp


def main(argv: Sequence[str] | None = None) -> int:
    """Run evalroom with these words; return the exit status. Never raises an `Exception`."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # a program of its own
        begin()
    try:
        return _run(words)
    except BaseException as error:  # noqa: BLE001 - the one place
        return ended_by(cause_of(error), words)


def _run(argv: Sequence[str]) -> int:  # noqa: C901, PLR0911, PLR0912 - one case per command
    words = parsed(argv)
    if words.given.pop("version", False):
        print(f"evalroom {version()}", flush=True)
        return 0
    match words.command:
        case "probe":
            return _print_probe()
        case "config":
            return _config(words)
        case "journal":
            return _journal(words)
        case "demo":
            return _demo(words)
        case "replay":
            _need_a_terminal()
            return asyncio.run(_replay(words))
        case None:
            _need_a_terminal()
            gc.disable()  # nothing is garbage before the first frame: `_collect_again`
            return asyncio.run(_room(_read_config(words), words))
        case "act" | "config-set" | "undo":
            return run_loop(_act(words))
        case "launch" | "runs" | "run" | "output" | "attach" | "sessions" | "templates":
            return _launch(words)
        case "secrets":
            return _secrets(words)
        case "machines" if words.given["what"] is not None:
            return _one_machine(words)
        case "guide":
            return _guide_list(words) if words.given["what"] == "list" else run_loop(_guide(words))
        case _:
            return run_loop(_look(words))


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _need_a_terminal() -> None:
    if not _has_terminal():
        raise UsageWrong(
            "the room needs a terminal on its input and output",
            "without one: evalroom status, watch, samples, sample or machines (with --json too)",
        )


# What is read before anything starts


def _read_config(words: Words) -> "Config":
    from core.config.file import default_config, read_config  # noqa: PLC0415
    from storage.paths import refuse_if_others_write  # noqa: PLC0415
    from tui.keys.table import KEYS_BY_NAME  # noqa: PLC0415

    path = _config_path(words)
    if path is None:
        config = default_config()
    else:
        if path.exists():
            refuse_if_others_write(path)
        config = read_config(path, actions=KEYS_BY_NAME)
    return replace(config, read_only=config.read_only or words.read_only)


def _config_path(words: Words) -> Path | None:
    """Return the config to read; None: there is none in the usual place."""
    from storage.paths import paths  # noqa: PLC0415

    usual = paths().config_file
    if words.config is not None:
        return words.config.expanduser()
    return usual if usual.exists() else None


def _config(words: Words) -> int:
    from cli.commands import config as commands  # noqa: PLC0415
    from storage.config_text import config_text  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415
    from tui.keys.table import KEYS_BY_NAME  # noqa: PLC0415

    what, path = words.given["what"], _config_path(words)
    if what == "check":
        return commands.check(path, actions=KEYS_BY_NAME, as_json=words.as_json)
    if what == "show":
        config = _read_config(words)
        return commands.show(config, config_text(config), as_json=words.as_json)
    place = path or paths().config_file
    return commands.where(place, is_there=place.exists(), as_json=words.as_json)


def _journal(words: Words) -> int:
    from cli.commands.journal import journal  # noqa: PLC0415
    from storage.orders import read_orders  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    return journal(paths().database, read_orders, **words.given, as_json=words.as_json)


def _print_probe() -> int:
    from ssh.probe_session import probe_source  # noqa: PLC0415

    sys.stdout.buffer.write(probe_source())
    sys.stdout.buffer.flush()
    return 0


def _launch(words: Words) -> int:
    from cli.dispatch import launch  # noqa: PLC0415

    if words.command == "templates":
        return launch.templates_command(words)
    config = _read_config(words)
    if words.command != "launch":
        return launch.runs_command(config, words)
    if words.given["dry_run"]:
        return launch.dry_run(config, words)
    return run_loop(launch.launch_command(config, words))


def _secrets(words: Words) -> int:
    from cli.commands.secrets import secrets, secrets_asked  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415
    from storage.secrets import Secrets  # noqa: PLC0415

    file = paths().secrets
    asked = secrets_asked(**words.given, as_json=words.as_json)
    return run_loop(secrets(Secrets(file), file, asked))


def _one_machine(words: Words) -> int:
    from cli.dispatch.prepare import one_machine  # noqa: PLC0415

    return run_loop(one_machine(_read_config(words), words))


# What is run


async def _act(words: Words) -> int:
    """Run a headless command that changes something."""
    from cli.commands.act_words import act_command  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    config = _read_config(words)
    run = act_command(words.command or "", words.given, as_json=words.as_json)
    async with history_of(config, paths()) as history:
        with desk_of(config, words, keeping=history.keeping) as desk:
            acting = acting_of(desk, history)
            async with running(desk, acting):
                return await run(desk, acting)


def _guide_list(words: Words) -> int:
    from cli.commands.guide import LISTED, guide_list  # noqa: PLC0415
    from storage.guides import read_guides  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    return guide_list(read_guides(paths().database, LISTED), as_json=words.as_json)


async def _guide(words: Words) -> int:
    """Run a checklist as far as it is confirmed."""
    from cli.commands.guide import guide, guide_asked  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    config = _read_config(words)
    asked = guide_asked(words.given, as_json=words.as_json)
    async with history_of(config, paths()) as history:
        with desk_of(config, words, keeping=history.keeping) as desk:
            acting = acting_of(desk, history)
            guiding = guiding_of(desk, acting, history, dry_run=asked.dry_run)
            async with running(desk, acting, guiding):
                return await guide(desk, guiding, asked)


async def _look(words: Words) -> int:
    """Run a headless command on a desk."""
    config = _read_config(words)
    with desk_of(config, words) as desk:
        async with running(desk):
            return await _command(words)(desk)


def _command(words: Words) -> "Callable[[Desk], Awaitable[int]]":
    given, as_json = words.given, words.as_json
    match words.command:
        case "status":
            from cli.commands.status import status  # noqa: PLC0415

            return lambda desk: status(desk, timeout=given["timeout"], as_json=as_json)
        case "machines":
            from cli.commands.status import machines  # noqa: PLC0415

            return lambda desk: machines(desk, timeout=given["timeout"], as_json=as_json)
        case "watch":
            from cli.commands.watch import watch  # noqa: PLC0415

            return lambda desk: watch(desk, seconds=given["seconds"], as_json=as_json)
        case "samples":
            from cli.commands.samples import samples  # noqa: PLC0415

            return lambda desk: samples(desk, **given, as_json=as_json)
        case "sample":
            from cli.commands.samples import sample  # noqa: PLC0415

            config = _read_config(words)
            keep = partial(keep_at_once, config)
            return lambda desk: sample(desk, **given, as_json=as_json, keep=keep)
        case _:
            raise UsageWrong(f"no command {shown(words.command)}")


def _demo(words: Words) -> int:
    """Run the demo: in the room, or headless where there is no terminal."""
    if words.given["headless"] or not _has_terminal():
        return run_loop(_demo_headless(words))
    from cli.commands.demo_room import demo_in_the_room  # noqa: PLC0415
    from storage.config_text import config_text  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    options = ["--read-only"] if words.read_only else []
    if words.record is not None:
        options += ["--record", str(words.record.absolute())]
    return demo_in_the_room(
        words.given["seconds"],
        config_text=lambda demo: config_text(_demo_config(demo, words)),
        options=options,
        crashes=paths().crashes,
    )


async def _demo_headless(words: Words) -> int:
    from cli.commands.demo import demo_running, watch_to_the_end  # noqa: PLC0415

    async with demo_running(words.given["seconds"]) as demo:
        with desk_of(_demo_config(demo, words), words) as desk:
            async with running(desk):
                return await watch_to_the_end(desk, demo)


def _demo_config(demo: "Demo", words: Words) -> "Config":
    from core.config.model import Config  # noqa: PLC0415

    return Config(machines=(demo.machine(),), read_only=words.read_only)


async def _room(config: "Config", words: Words) -> int:
    """Open the room."""
    from storage.paths import paths  # noqa: PLC0415
    from storage.view_state import ViewState  # noqa: PLC0415

    apps: list[RoomApp] = []

    _trust_the_terminal()

    async def ask(prompt: str, is_seen: bool) -> str | None:
        return await apps[0].ask(prompt, is_seen) if apps else None

    places = paths()
    async with history_of(config, places) as history:
        with desk_of(config, words, keeping=history.keeping, ask=ask) as desk:
            if all(machine.link == "command" for machine in config.machines):
                desk.begin()
                await _load_screens()
            from cli.wiring.room import fit  # noqa: PLC0415
            from tui import app as screens  # noqa: PLC0415

            app = screens.RoomApp(
                desk,
                screen=config.screen,
                keys=config.keys,
                store=ViewState(places.view_state),
                keep_crash=keep_crash,
                leaving=words.leaving or screens.LEAVING,
                acting=lambda: acting_of(desk, history),
            )
            fit(app, desk, config, history, places)
            apps.append(app)
            if history.keeping is None:
                app.notice = shown("nothing is kept")  # for as long as the room is open
            if history.said:
                app.call_later(app.say, history.said, "look")
            app.call_later(_collect_again, app)
            return await app.run_in_terminal()


_STEPS = (
    *("rich.console", "textual.css.styles", "textual.app", "textual.widgets"),
    *("core.views.tasks", "tui.screens.panes_screen", "tui.app"),
)
_TURNS = 5


async def _load_screens() -> None:
    """Load the screens in steps; between two, probes that start on the other cores go on.

    Not in a thread: the two would hold each other up at every step.
    """
    for name in _STEPS:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        importlib.import_module(name)


_GARBAGE = (10_000, 20, 50)
"""When garbage is looked for, see `gc.set_threshold`. What hosts tell is in no circles and goes
by itself; looking through twenty thousand samples for some held every key up for 0.2 s."""


def _collect_again(app: "RoomApp") -> None:
    """Look for garbage again, among what is made from the first frame on."""

    def drawn() -> None:
        gc.freeze()
        gc.set_threshold(*_GARBAGE)
        gc.enable()

    app.call_after_refresh(drawn)


def _trust_the_terminal() -> None:
    """Forget sizes that a shell exported once: the terminal knows its own, also when it changes."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)


async def _replay(words: Words) -> int:
    """Play a recording in the room."""
    from core.desk.replay import ReplayDesk, read_recording  # noqa: PLC0415
    from tui.app import RoomApp  # noqa: PLC0415

    _trust_the_terminal()
    config = _read_config(words)
    events = read_recording(words.given["file"])
    first = list(itertools.islice(events, 1))  # what can't be read is told before the room opens
    desk = ReplayDesk(itertools.chain(first, events), clock=WallClock(), speed=words.given["speed"])
    app = RoomApp(
        desk,
        screen=config.screen,
        keys=config.keys,
        keep_crash=keep_crash,
        leaving="The recording stays as it is; the room of every day is as you left it.",
    )
    return await app.run_in_terminal()


if __name__ == "__main__":
    sys.exit(main())
