"""evalroom as a program that waits longer: a loaded computer, and an eval there, answers late."""

import os
import sys

from cli.commands import first_poll, process_reads
from cli.main import main
from cli.parser import options
from core.watch import process_list

options.TIMEOUT_S = 120.0
first_poll.NOTE_AFTER_S = float(os.environ.get("NOTE_AFTER_S", "100"))
process_reads.TRACE_WAIT_S = 60.0
process_list.STARVED_AFTER_S = float(os.environ.get("STARVED_AFTER_S", "60"))

if __name__ == "__main__":
    sys.exit(main())
