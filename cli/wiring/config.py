"""The config that a command runs with: the file in its usual place, or the one that was named."""

from dataclasses import replace
from pathlib import Path

from cli.parser.arguments import Words
from core.config.file import default_config, read_config
from core.config.model import Config


def config_of(words: Words) -> Config:
    """Return the config that holds for a command."""
    from storage.paths import refuse_if_others_write  # noqa: PLC0415
    from tui.keys.table import KEYS_BY_NAME  # noqa: PLC0415

    path = config_path(words)
    if path is None:
        config = default_config()
    else:
        if path.exists():
            refuse_if_others_write(path)
        config = read_config(path, actions=KEYS_BY_NAME)
    return replace(config, read_only=config.read_only or words.read_only)


def config_path(words: Words) -> Path | None:
    """Return the config to read; None: there is none in the usual place."""
    from storage.paths import paths  # noqa: PLC0415

    usual = paths().config_file
    if words.config is not None:
        return words.config.expanduser()
    return usual if usual.exists() else None
