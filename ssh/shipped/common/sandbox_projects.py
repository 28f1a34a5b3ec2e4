"""The names of the Compose projects that Inspect makes: one for each sample."""

import re

SANDBOX_PROJECT = re.compile(r"inspect-[a-z0-9_-]{0,80}-i[a-z0-9]{6,}\Z")
PROJECT_LABEL = "com.docker.compose.project"
