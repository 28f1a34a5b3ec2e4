"""The config that a command runs with: the file at the default path, or the one from `--config`."""

from dataclasses import replace
from pathlib import Path

from cli.parser.command import GlobalOptions
from core.config.file import default_config, read_config
from core.config.model import Config
from core.errors import ConfigWrong
from core.judge.kinds import all_rules, kind_names
from core.text import shown
from storage.paths import paths, refuse_unsafe_config
from tui.keys.table import KEYS_BY_NAME


def config_of(options: GlobalOptions) -> Config:
    """Return the config that a command runs with; `--read-only` holds for each machine.

    Raises:
        ConfigWrong: The file can't be read, or a key or value is wrong.
        StorageError: Other users may change the file, or replace it in its folder.
    """
    path = config_path(options)
    if path is None:
        config = default_config()
    else:
        if is_there(path):
            refuse_unsafe_config(path)
        config = read_config(path, actions=KEYS_BY_NAME, judged=all_rules(), kinds=kind_names())
    read_only = config.read_only or options.read_only
    machines = tuple(
        replace(each, read_only=each.read_only or read_only) for each in config.machines
    )
    return replace(config, read_only=read_only, machines=machines)


def config_path(options: GlobalOptions) -> Path | None:
    """Return the path of the config; None if no config file exists and none was named."""
    usual = paths().config_file
    if options.config is not None:
        return options.config.expanduser()
    return usual if is_there(usual) else None


def is_there(path: Path) -> bool:
    """Return whether a config file exists.

    Raises:
        ConfigWrong: A folder on the way to it is a file, or may not be entered.
    """
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ConfigWrong(
            f"can't read {shown(str(path))}: {error.strerror}", "check the folders on the way to it"
        ) from None
    return True
