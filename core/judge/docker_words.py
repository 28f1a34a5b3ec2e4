"""What Docker says when samples can't get a sandbox, and what helps."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DockerTrouble:
    """What Docker says in some trouble.

    Attributes:
        name: One word.
        said: The words of Docker that show it.
        what: What it is, the end of a sentence that begins with `because`.
        advice: What to do.
    """

    name: str
    said: re.Pattern[str]
    what: str
    advice: str


def _trouble(name: str, said: str, what: str, advice: str) -> DockerTrouble:
    return DockerTrouble(name, re.compile(said, re.IGNORECASE), what, advice)


TROUBLES = (
    _trouble(
        "networks",
        "address pools? (has|have) been fully|non-overlapping.{0,12}address pool"
        "|available.{0,20} address pool",
        "Docker has no networks left",
        "Run fewer samples at once, and remove networks that nobody uses: docker network prune",
    ),
    _trouble(
        "pulls",
        "toomanyrequests|reached your (unauthenticated )?pull rate limit",
        "the registry allows no more pulls of images now",
        "Sign in to the registry on that machine, or pull the images before the run",
    ),
    _trouble(
        "image",
        "no such image|pull access denied|manifest (unknown|for .* not found)|unable to find image"
        "|repository does not exist",
        "an image is missing",
        "Build or pull it on that machine, then requeue the samples",
    ),
    _trouble(
        "disk",
        "docker.*no space left on device|no space left on device.*(overlay|docker|layer)",
        "the disk of Docker is full",
        "Make room there, for example with: docker system prune",
    ),
    _trouble(
        "access",
        "permission denied.*docker|docker.*permission denied",
        "the login may not use Docker",
        "Add it to the group docker on that machine",
    ),
    _trouble(
        "engine",
        "cannot connect to the docker daemon|is the docker daemon running",
        "Docker did not answer",
        "See on the machine whether it runs: docker ps",
    ),
)
"""What Docker says, in the order in which it is looked for."""


def trouble_in(cause: str) -> str:
    """Return the name of the trouble that an error is about; empty: it is not about a sandbox."""
    found = (each.name for each in TROUBLES if each.said.search(cause))
    return next(found, "")
