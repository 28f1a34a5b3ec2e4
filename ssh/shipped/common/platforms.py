"""The operating system and platform of this machine."""

import platform
import sys

LINUX = sys.platform.startswith("linux")
PLATFORM = "%s %s %s" % (platform.system(), platform.release(), platform.machine())
