"""`python -m tui`."""

import sys

from tui.main import main

sys.exit(main())
