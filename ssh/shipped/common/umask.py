"""The umask of the login, for folders that others may read. evalroom's own folders are private."""

import os

LOGIN_UMASK = os.umask(0o077)
os.umask(LOGIN_UMASK)
