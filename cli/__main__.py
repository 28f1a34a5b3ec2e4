"""`python -m tui`."""

import sys

from cli.main import main

sys.exit(main())
