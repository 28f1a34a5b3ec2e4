"""`evalroom config check | show | path`."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from cli.parser.command import GlobalOptions
from cli.parser.config import ConfigCommand
from cli.render.plain import error_json, print_error, print_json, print_lines
from cli.wiring.config import config_of, config_path, is_there
from core.config.file import check_config, default_config, text_of
from core.config.model import Config
from core.errors import ConfigWrong
from core.format import plural
from core.judge.kinds import all_rules, kind_names
from core.text import shown
from storage.config_text import config_text
from storage.paths import paths, refuse_unsafe_config
from tui.keys.table import KEYS_BY_NAME


def config(command: ConfigCommand, options: GlobalOptions) -> int:
    """Run `evalroom config`; return the exit status."""
    path = config_path(options)
    if command.what == "check":
        return check(path, actions=KEYS_BY_NAME, as_json=command.as_json)
    if command.what == "show":
        holds = config_of(options)
        return show(holds, config_text(holds), as_json=command.as_json)
    place = path or paths().config_file
    return where(place, is_there=is_there(place), as_json=command.as_json)


def check(path: Path | None, *, actions: Mapping[str, str], as_json: bool) -> int:
    """Print all errors of a config; return the exit status.

    Args:
        path: The file; None: no config file exists, which is not an error.
        actions: The actions that `[keys]` may name, each with its default keys.
        as_json: Whether to print JSON.

    Raises:
        ConfigWrong: The file can't be read at all.
        StorageError: Other users may change the file, or replace it in its folder.
    """
    wrong: tuple[ConfigWrong, ...] = ()
    config = default_config()
    if path is not None:
        config, wrong = check_config(
            text_of(path), path, actions=actions, judged=all_rules(), kinds=kind_names()
        )
        refuse_unsafe_config(path)
    if as_json:
        errors = [error_json(each) for each in wrong]
        print_json({"path": config.path, "ok": not wrong, "errors": errors})
    elif wrong:
        for each in wrong:
            print_error(each, as_json=False)
    else:
        fine = f"valid, {plural(len(config.machines), 'machine')}"
        nothing = "no config file: this computer is the only machine"
        print_lines([f"{shown(str(path))}: {fine}" if path else nothing])
    return 1 if wrong else 0


def show(config: Config, text: str, *, as_json: bool) -> int:
    """Print the config with all its defaults; return the exit status.

    Args:
        config: The config to print.
        text: The same config as TOML.
        as_json: Whether to print JSON.
    """
    if as_json:
        print_json(msgspec.to_builtins(config, enc_hook=dict))
    else:
        print_lines(text.rstrip().splitlines())
    return 0


def where(path: Path, *, is_there: bool, as_json: bool) -> int:
    """Print the path of the config, even if the file does not exist; return the exit status."""
    if as_json:
        print_json({"path": str(path), "exists": is_there})
    else:
        print_lines([shown(str(path))])
    return 0
