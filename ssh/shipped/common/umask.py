"""The umask of the login: folders that evalroom makes for others get it. Its own are private."""

import os

LOGIN_UMASK = os.umask(0o077)
os.umask(LOGIN_UMASK)
