"""What a real Docker engine says in trouble is known by its words."""

import subprocess

from core.judge.docker_words import trouble_in
from tests.support.docker_engine import DockerEngine, docker_group

pytestmark = docker_group


def said(engine: DockerEngine, *words: str, host: str = "") -> str:
    """Return what a command that fails prints."""
    command = [engine.client, "-H", host or engine.host, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr


def test_a_missing_image_and_a_dead_engine_are_known(docker_engine: DockerEngine) -> None:
    assert trouble_in(said(docker_engine, "run", "--pull=never", "acme/none:9", "true")) == "image"
    assert trouble_in(said(docker_engine, "run", "acme/none:9", "true")) == "image"
    nobody = f"unix://{docker_engine.folder}/nobody.sock"
    assert trouble_in(said(docker_engine, "ps", host=nobody)) == "engine"
