"""evalroom's version, from the metadata of the installed package."""

from cli.output import writing_output
from cli.parser.command import GlobalOptions, ParsedCommand


def version() -> str:
    """Return evalroom's version."""
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415 - 20 ms
    from importlib.metadata import version as version_of  # noqa: PLC0415

    try:
        return version_of("evalroom")
    except PackageNotFoundError:
        return "unknown (not installed)"


def print_version(command: ParsedCommand, options: GlobalOptions) -> int:
    """Run `evalroom --version`; return the exit status."""
    del command, options
    with writing_output():
        print(f"evalroom {version()}", flush=True)
    return 0
