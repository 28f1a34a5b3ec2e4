"""What a command of an eval does, in the words that may be shown: never an agent's text."""

import os
import re

from ssh.shipped.common.sandbox_projects import SANDBOX_PROJECT
from ssh.shipped.probe.redaction import redacted

MAX_COMMAND_CHARACTERS = 4000  # a longer command is read so far
MAX_WORDS = 4
PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-]{1,60}\Z")
WORD = re.compile(r"\s*(?:([^\s'\"\\]+)(?=\s|\Z)|'(?:[^']|'\"'\"')*'(?=\s|\Z))")
COMPOSE_VALUES = ("--ansi", "--progress", "-f", "--file", "--env-file", "--profile")
COMPOSE_VALUES += ("--project-directory", "--parallel", "-p", "--project-name")
EXEC_VALUES = ("--workdir", "-w", "--user", "-u", "--env", "-e", "--index")
CODE_OPTIONS = ("-c", "-lc", "-e", "--eval", "--command")


def words_of(command):
    """Return the words of a command as `shlex.join` writes it; None: a quoted one."""
    text, at, words = command[:MAX_COMMAND_CHARACTERS], 0, []
    while True:
        found = WORD.match(text, at)
        if found is None:
            return words
        words.append(found.group(1))
        at = found.end()


def past_options(words, at, with_values):
    """Return the index of the first word from `at` on that is not an option or its value."""
    while at < len(words) and words[at] is not None and words[at].startswith("-"):
        at += 2 if words[at] in with_values else 1
    return at


def compose_parts(words):
    """Return (project, verb, words after it) of a `docker compose` command; None: another one."""
    if [os.path.basename(word or "") for word in words[:1]] != ["docker"] or words[1:2] != [
        "compose"
    ]:
        return None
    verb_at = past_options(words, 2, COMPOSE_VALUES)
    verb = words[verb_at] if verb_at < len(words) else None
    project = ""
    for option, value in zip(words[2:verb_at], words[3:verb_at]):
        if option in ("-p", "--project-name") and SANDBOX_PROJECT.match(value or ""):
            project = value
    return project, verb or "", words[verb_at + 1 :]


def described(command):
    """Return (what, words, project) of a command: `docker exec`, `sleep 1000`, its sandbox.

    `words` are the first words that are plain: the text of a script is never among them.
    """
    words = words_of(command)
    compose = compose_parts(words)
    if compose is None:
        return "subprocess", first_words(words), ""
    project, verb, rest = compose
    if not PLAIN.match(verb):
        return "docker compose", "", project
    if verb != "exec":
        return "docker compose " + verb, "", project
    service_at = past_options(rest, 0, EXEC_VALUES)
    return "docker exec", first_words(rest[service_at + 1 :]), project


def first_words(words):
    """Return the first plain words of a command, without `timeout` and possible secrets."""
    if words and os.path.basename(words[0] or "") == "timeout":
        words = words[past_options(words, 1, ("-k", "-s", "--kill-after", "--signal")) + 1 :]
    chosen = []
    for word in words:
        if len(chosen) == MAX_WORDS or word is None or not PLAIN.match(word):
            break
        chosen.append(word)
        if word in CODE_OPTIONS:
            break
    more = " ..." if len(chosen) < len(words) else ""
    return (" ".join(redacted(chosen)) + more).strip() if chosen else ""
