"""What `evalroom launch`, `runs`, `run`, `output` and `templates` are given, and how they run."""

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cli.parser.arguments import Words
from core.errors import NotConfirmed

if TYPE_CHECKING:
    from core.config.model import Config
    from core.desk.desk import Desk
    from core.launch.run.service import DeskLaunchService


def dry_run(config: "Config", words: Words) -> int:
    """Run `evalroom launch --dry-run`; return the exit status."""
    from cli.commands.launch import show_plans  # noqa: PLC0415
    from cli.wiring.launches import surroundings_of  # noqa: PLC0415

    given = words.given
    around = surroundings_of(config)
    return show_plans(given["file"], around, sets=given["sets"], as_json=words.as_json)


async def launch_command(config: "Config", words: Words) -> int:
    """Run `evalroom launch`; return the exit status."""
    from cli.commands.launch_now import Asked, launch_now  # noqa: PLC0415
    from cli.wiring.desk import desk_of, history_of, running  # noqa: PLC0415
    from cli.wiring.launches import launches_of  # noqa: PLC0415
    from core.launch.plan.matrix import expand  # noqa: PLC0415
    from core.launch.spec.spec_reader import read_spec  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    given = words.given
    spec = read_spec(given["file"], stdin=sys.stdin, sets=given["sets"])
    wanted = {name for each in expand(spec, config.machines) for name in each.candidates}
    if config.read_only:
        raise NotConfirmed("nothing is launched: evalroom is read-only", "--dry-run shows it")
    asked = Asked(
        yes=given["yes"],
        confirm=given["confirm"],
        wait=given["wait"],
        as_json=words.as_json,
        timeout=given["timeout"],
    )
    near = config.of_machines(wanted)
    async with history_of(config, paths()) as history:
        with desk_of(near, words, keeping=history.keeping) as desk:
            launches = launches_of(desk, near, history)
            async with running(desk, launches=launches):
                return await launch_now(desk, launches, spec, asked, near.machines)


def runs_command(config: "Config", words: Words) -> int:
    """Run a command that tells of launches; return the exit status."""
    from cli.exit_status import run_loop  # noqa: PLC0415

    if words.command != "attach":
        return run_loop(_over_launches(config, lambda desk, of: _told(desk, of, words), words))
    from cli.commands import attach  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    found: list[attach.Display] = []

    async def find(desk: "Desk", launches: "DeskLaunchService") -> int:
        given = words.given
        found.append(
            await attach.display_of(
                desk,
                launches,
                given["name"],
                machines=config.machines,
                known_hosts=(str(paths().known_hosts),),
                timeout=given["timeout"],
            )
        )
        return 0

    status = run_loop(_over_launches(config, find, words))
    return attach.show(found[0], as_json=words.as_json) if found else status


async def _over_launches(
    config: "Config", work: "Callable[[Desk, DeskLaunchService], Awaitable[int]]", words: Words
) -> int:
    from cli.wiring.desk import desk_of, history_of, running  # noqa: PLC0415
    from cli.wiring.launches import launches_of  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    async with history_of(config, paths()) as history:
        with desk_of(config, words) as desk:
            launches = launches_of(desk, config, history)
            async with running(desk):
                return await work(desk, launches)


async def _told(desk: "Desk", launches: "DeskLaunchService", words: Words) -> int:
    from cli.commands import runs, sessions  # noqa: PLC0415

    given, timeout, as_json = words.given, words.given["timeout"], words.as_json
    match words.command, given.get("what"):
        case "runs", _:
            return await runs.runs(desk, launches, timeout=timeout, as_json=as_json)
        case "run", _:
            return await runs.run(desk, launches, given["name"], timeout=timeout, as_json=as_json)
        case "output", _:
            return await runs.output(
                desk, launches, given["name"], follow=given["follow"], timeout=timeout
            )
        case _, "end":
            return await sessions.end_session(
                desk,
                desk,
                given["name"],
                yes=given["yes"],
                confirm=given["confirm"],
                timeout=timeout,
            )
        case _:
            return await sessions.sessions(desk, desk, timeout=timeout, as_json=as_json)


def templates_command(words: Words) -> int:
    """Run `evalroom templates`; return the exit status."""
    from cli.commands.templates import show_templates  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

    folder = paths().config_file.parent / "templates"
    return show_templates(folder, words.given["name"], as_json=words.as_json)
