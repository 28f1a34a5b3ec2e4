"""evalroom as a program that waits longer for machines: a loaded computer answers late."""

import sys

from cli.main import main
from cli.parser import options

options.TIMEOUT_S = 120.0

if __name__ == "__main__":
    sys.exit(main())
