"""`evalroom config check | show | path`."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from cli.render.plain import print_error, print_json, print_lines
from core.config.file import check_config, default_config, text_of
from core.config.model import Config
from core.errors import ConfigWrong
from core.format import plural
from core.text import shown


def check(path: Path | None, *, actions: Mapping[str, str], as_json: bool) -> int:
    """Tell all that is wrong with a config; return the exit status.

    Args:
        path: The file; None: there is none, and that is fine.
        actions: What `[keys]` may name, with the keys that each has without it.
        as_json: Whether to print JSON.

    Raises:
        ConfigWrong: The file can't be read at all.
    """
    wrong: tuple[ConfigWrong, ...] = ()
    config = default_config()
    if path is not None:
        config, wrong = check_config(text_of(path), path, actions=actions)
    if as_json:
        errors = [
            {"kind": each.kind, "message": each.message, "advice": each.advice} for each in wrong
        ]
        print_json({"path": config.path, "ok": not wrong, "errors": errors})
    elif wrong:
        for each in wrong:
            print_error(each, as_json=False)
    else:
        where = shown(str(path)) if path else "no config: this computer is the only machine"
        print_lines([f"{where}: fine, {plural(len(config.machines), 'machine')}"])
    return 1 if wrong else 0


def show(config: Config, text: str, *, as_json: bool) -> int:
    """Print the config that holds, defaults and all.

    Args:
        config: What holds.
        text: The same as TOML.
        as_json: Whether to print JSON.
    """
    if as_json:
        print_json(msgspec.to_builtins(config, enc_hook=dict))
    else:
        print_lines(text.rstrip().splitlines())
    return 0


def where(path: Path, *, is_there: bool, as_json: bool) -> int:
    """Print where the config is, or would be."""
    if as_json:
        print_json({"path": str(path), "exists": is_there})
    else:
        print_lines([shown(str(path))])
    return 0
