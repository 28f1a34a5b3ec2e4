"""What `evalroom launch`, `runs`, `run`, `output` and `templates` are given, and how they run."""

import sys
from typing import TYPE_CHECKING

from core.errors import NotConfirmed
from tui.arguments import Words

if TYPE_CHECKING:
    from core.config import Config


def dry_run(config: "Config", words: Words) -> int:
    """Run `evalroom launch --dry-run`; return the exit status."""
    from tui.commands.launch import show_plans  # noqa: PLC0415
    from tui.making_launches import surroundings_of  # noqa: PLC0415

    given = words.given
    around = surroundings_of(config)
    return show_plans(given["file"], around, sets=given["sets"], as_json=words.as_json)


async def launch_command(config: "Config", words: Words) -> int:
    """Run `evalroom launch`; return the exit status."""
    from core.launch.matrix import expand  # noqa: PLC0415
    from core.launch.spec_file import read_spec  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415
    from tui.commands.launch_now import Asked, launch_now  # noqa: PLC0415
    from tui.making import desk_of, history_of, running  # noqa: PLC0415
    from tui.making_launches import launches_of  # noqa: PLC0415

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


async def runs_command(config: "Config", words: Words) -> int:
    """Run `evalroom runs`, `run` or `output`; return the exit status."""
    from storage.paths import paths  # noqa: PLC0415
    from tui.commands import runs  # noqa: PLC0415
    from tui.making import desk_of, history_of, running  # noqa: PLC0415
    from tui.making_launches import launches_of  # noqa: PLC0415

    given, timeout = words.given, words.given["timeout"]
    async with history_of(config, paths()) as history:
        with desk_of(config, words) as desk:
            launches = launches_of(desk, config, history)
            async with running(desk):
                match words.command:
                    case "runs":
                        return await runs.runs(
                            desk, launches, timeout=timeout, as_json=words.as_json
                        )
                    case "run":
                        return await runs.run(
                            desk, launches, given["name"], timeout=timeout, as_json=words.as_json
                        )
                    case _:
                        return await runs.output(
                            desk, launches, given["name"], follow=given["follow"], timeout=timeout
                        )


def templates_command(words: Words) -> int:
    """Run `evalroom templates`; return the exit status."""
    from storage.paths import paths  # noqa: PLC0415
    from tui.commands.templates import show_templates  # noqa: PLC0415

    folder = paths().config_file.parent / "templates"
    return show_templates(folder, words.given["name"], as_json=words.as_json)
