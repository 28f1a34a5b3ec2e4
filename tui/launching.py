"""What `evalroom launch` and `evalroom templates` are given: config, tasks, versions."""

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from tui.arguments import Words

if TYPE_CHECKING:
    from core.config import Config


def launch_command(config: "Config", words: Words) -> int:
    """Run `evalroom launch`; return the exit status."""
    from core.launch.warn import INSPECT  # noqa: PLC0415
    from ssh.built_in_tasks import built_in_tasks  # noqa: PLC0415
    from tui.commands.launch import Surroundings, launch  # noqa: PLC0415

    try:
        inspect_version = version("inspect-ai")
    except PackageNotFoundError:
        inspect_version = INSPECT
    around = Surroundings(
        config=config,
        built_in=built_in_tasks(),
        inspect_version=inspect_version,
        own_python=sys.executable,
    )
    return launch(
        words.given["file"],
        around,
        sets=words.given["sets"],
        dry_run=words.given["dry_run"],
        as_json=words.as_json,
    )


def templates_command(words: Words) -> int:
    """Run `evalroom templates`; return the exit status."""
    from storage.paths import paths  # noqa: PLC0415
    from tui.commands.templates import show_templates  # noqa: PLC0415

    folder = paths().config_file.parent / "templates"
    return show_templates(folder, words.given["name"], as_json=words.as_json)
