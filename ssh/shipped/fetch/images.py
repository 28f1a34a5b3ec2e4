"""Images of sandboxes."""

import json
import os
import shutil

from ssh.shipped.common.cannot_do import CannotDo, no_space
from ssh.shipped.fetch.job import until_of
from ssh.shipped.fetch.programs import one_line, run

MAX_CONFIGS = 500


def fetch_images(given):
    """Pull and build the images of sandboxes; return a row for each."""
    until = until_of(given)
    docker = shutil.which("docker")
    if docker is None:
        raise CannotDo("that machine has no docker", "install it there")
    rows = []
    for path in given["files"][:MAX_CONFIGS]:
        rows.append(image_row(path, lambda path=path: fetch_by_file(docker, path, until)))
    for name in given["images"][:MAX_CONFIGS]:
        rows.append(image_row(name, lambda name=name: fetch_by_name(docker, name, until)))
    return {"images": rows}


def image_row(what, fetch):
    try:
        return {"what": what, "how": fetch(), "message": ""}
    except CannotDo as cannot:
        return {"what": what, "how": "failed", "message": str(cannot)}


def fetch_by_name(docker, name, until):
    if run([docker, "image", "inspect", "--", name], until).status == 0:
        return "there"
    must_run([docker, "pull", "-q", "--", name], until)
    return "fetched"


def fetch_by_file(docker, path, until):
    """Build a Dockerfile, or pull and build the services of a compose file."""
    folder = os.path.dirname(path)
    if not os.path.basename(path).endswith((".yaml", ".yml")):
        must_run([docker, "build", "-q", "-f", path, folder], until, folder)
        return "built"
    compose = [docker, "compose", "-f", path]
    done = run([*compose, "config", "--format", "json"], until, cwd=folder)
    services = services_of(done)
    names = {each["image"] for each in services if each.get("image") and not each.get("build")}
    lacking = [n for n in names if run([docker, "image", "inspect", "--", n], until).status != 0]
    builds = any(each.get("build") for each in services)
    if services and not lacking and not builds:
        return "there"
    must_run([*compose, "pull", "-q", "--ignore-buildable"], until, folder)
    if builds:
        must_run([*compose, "build", "-q"], until, folder)
    return "built" if builds else "fetched"


def services_of(done):
    try:
        return list(json.loads(done.out)["services"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotDo("docker compose can't read it: %s" % one_line(done.err)) from error


def must_run(words, until, cwd=None):
    done = run(words, until, cwd=cwd)
    if done.status != 0:
        why = one_line(done.err or done.out)
        if "no space left" in why.lower():
            raise no_space("images")
        raise CannotDo("docker says: %s" % why)
