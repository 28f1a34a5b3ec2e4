"""Turns git's error messages into sentences with advice."""

import re

from ssh.shipped.common.cannot_do import CannotDo, no_space
from ssh.shipped.fetch.programs import one_line


def why_no_code(url, message, has_token):
    """Return the CannotDo for an error message of git."""
    first = re.search(r"(?im)^(?:remote: )?(?:fatal|error|ssh)\b.*", message)
    cause = one_line(first.group(0) if first else message)

    def says(*patterns):
        return any(re.search(pattern, message) for pattern in patterns)

    if says("No space left", "Disk quota exceeded"):
        return no_space("the code of %s" % url)
    if says("dubious ownership"):
        return CannotDo(
            "%s belongs to another account, and git refuses to read it" % url,
            "have its owner change the ownership, or use it as a folder: code = ...",
        )
    if says("transport '.*' not allowed", "protocol '.*' is not supported"):
        return CannotDo("the protocol of %s is not allowed: %s" % (url, cause))
    if says("cannot run ssh", "ssh: (command )?not found"):
        return CannotDo("that machine has no ssh, and %s needs it" % url, "install it there")
    if says("Host key verification failed"):
        return CannotDo(
            "ssh on that machine does not know the host key of %s" % url,
            "log in there and run ssh to that host once, to accept it",
        )
    if says(
        "Authentication failed", "could not read (Username|Password)", "prompts disabled",
        r"Permission denied \(", r"returned error: 40[13]", "HTTP Basic: Access denied",
    ):  # fmt: skip
        if has_token:
            return CannotDo("%s rejected the token" % url, "set it again: evalroom secrets set")
        return CannotDo(
            "%s requires a login from that machine" % url,
            'name the secret with a token for it: code = { ..., token = "NAME" }; for ssh, that'
            " machine needs a key without a passphrase",
        )
    if says(r"returned error: 30\d", "redirect"):
        return CannotDo(
            "%s redirects to another address, and evalroom does not send a token there" % url,
            "use the address that it redirects to",
        )
    if says(
        "not found", "does not exist", "does not appear to be a git repo", "returned error: 404",
        "No such file or directory",
    ):  # fmt: skip
        return CannotDo("no repository at %s: %s" % (url, cause), "check `code` in the spec")
    if says(
        "Could not resolve", "Connection (refused|reset|timed out|closed)", "Failed to connect",
        "Could not connect", "Couldn't connect", "unreachable", "No route to host", "too slow",
        "timed out", "early EOF", "hung up", "RPC failed", "(SSL|TLS)", "certificate",
    ):  # fmt: skip
        return CannotDo(
            "that machine can't reach %s: %s" % (url, cause), "check its network, then try again"
        )
    return CannotDo("git could not fetch %s: %s" % (url, cause or "git gave no reason"))
