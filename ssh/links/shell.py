"""Words for the `/bin/sh` of a machine; the one quoting function lives in `core.quoting`."""

from core.quoting import command_line, program_word, quoted

__all__ = ["command_line", "program_word", "quoted"]
