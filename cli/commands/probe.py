"""`evalroom probe`: the source of the program that runs on each machine."""

import sys

from cli.output import writing_output
from cli.parser.command import GlobalOptions
from cli.parser.config import ProbeCommand
from ssh.shipped_program import shipped_program


def probe(command: ProbeCommand, options: GlobalOptions) -> int:
    """Run `evalroom probe`; return the exit status."""
    del command, options
    with writing_output():
        sys.stdout.buffer.write(shipped_program("probe"))
        sys.stdout.buffer.flush()
    return 0
