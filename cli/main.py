"""Where all meet: words are parsed first, what they need is imported then.

This is the only place that knows the links, the storage and the screens at once, and the only
one that catches what nobody expected.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cli.exit_status import ended_by, run_loop, version
from cli.library_output import begin
from cli.parser.arguments import Words, parsed
from cli.wiring.config import config_of, config_path
from cli.wiring.desk import (
    acting_of,
    desk_of,
    guiding_of,
    history_of,
    keep_at_once,
    running,
)
from core.errors import UsageWrong, first_error
from core.text import shown

if TYPE_CHECKING:
    from core.desk.desk import Desk


def main(argv: Sequence[str] | None = None) -> int:
    """Run evalroom with these words; return the exit status. Never raises an `Exception`."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # a program of its own
        begin()
    try:
        return _run(words)
    except BaseException as error:  # noqa: BLE001 - the one place
        return ended_by(first_error(error), words)


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
            from cli.commands.demo import demo  # noqa: PLC0415

            return demo(words)
        case "replay":
            from cli.commands.replay import replay  # noqa: PLC0415

            return replay(words)
        case None:
            from cli.commands.room import room  # noqa: PLC0415

            return room(words)
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


def _config(words: Words) -> int:
    from cli.commands import config as commands  # noqa: PLC0415
    from storage.config_text import config_text  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415
    from tui.keys.table import KEYS_BY_NAME  # noqa: PLC0415

    what, path = words.given["what"], config_path(words)
    if what == "check":
        return commands.check(path, actions=KEYS_BY_NAME, as_json=words.as_json)
    if what == "show":
        config = config_of(words)
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
    config = config_of(words)
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

    return run_loop(one_machine(config_of(words), words))


# What is run


async def _act(words: Words) -> int:
    """Run a headless command that changes something."""
    from cli.commands.act_words import act_command  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    config = config_of(words)
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

    config = config_of(words)
    asked = guide_asked(words.given, as_json=words.as_json)
    async with history_of(config, paths()) as history:
        with desk_of(config, words, keeping=history.keeping) as desk:
            acting = acting_of(desk, history)
            guiding = guiding_of(desk, acting, history, dry_run=asked.dry_run)
            async with running(desk, acting, guiding):
                return await guide(desk, guiding, asked)


async def _look(words: Words) -> int:
    """Run a headless command on a desk."""
    config = config_of(words)
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

            config = config_of(words)
            keep = partial(keep_at_once, config)
            return lambda desk: sample(desk, **given, as_json=as_json, keep=keep)
        case _:
            raise UsageWrong(f"no command {shown(words.command)}")


if __name__ == "__main__":
    sys.exit(main())
