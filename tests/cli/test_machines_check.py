"""`evalroom machines check NAME [SPEC]` as a program."""

from collections.abc import Iterator

import pytest

from tests.support.commands import Home, machine
from tests.support.evals import short_folder
from tests.support.specs import SMOKE


@pytest.fixture
def home() -> Iterator[Home]:
    with short_folder() as folder:
        home = Home(folder)
        home.configure(machine("here") + machine("away", command=["false"]))
        (folder / "s.toml").write_text(SMOKE)
        yield home


def test_a_machine_is_looked_at_for_any_run(home: Home) -> None:
    ran = home.run("machines", "check", "here", "--json")
    assert (ran.status, ran.err) == (0, "")
    printed = {each["name"]: each for each in ran.json["checks"]}
    assert ran.json["machine"] == "here"
    assert set(printed) >= {"python", "Inspect", "uv", "Docker", "GPUs", "disk", "tmux"}
    assert printed["Inspect"]["message"].startswith("Inspect 0.3.")
    assert all(set(each) == {"name", "level", "message", "advice"} for each in printed.values())


def test_a_spec_is_judged_and_a_stop_is_the_exit_status(home: Home) -> None:
    well = home.run("machines", "check", "here", "s.toml")
    assert (well.status, well.err) == (0, "")
    assert well.out.startswith("evalroom/smoke with mockllm/model on here\n")
    assert "  ok    task: evalroom/smoke comes with evalroom\n" in well.out

    (home.folder / "bad.toml").write_text(SMOKE + 'secrets = ["NOPE"]\npython = "/nowhere/py"\n')
    bad = home.run("machines", "check", "here", "bad.toml", "--json")
    assert bad.status == 1
    [plan] = bad.json["plans"]
    stops = [each for each in plan["checks"] if each["level"] == "stop"]
    assert [each["message"] for each in stops] == [
        "/nowhere/py does not exist on the machine",
        "the secret NOPE is not stored",
    ]
    assert all(each["advice"] for each in stops)
    # What probes learned of other evals of this account may be there.
    made = {each.name for each in home.folder.glob(".evalroom/*")} - {"polls"}
    assert not made, "a check changes nothing"


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("away", "s.toml"), 3, "STOP  link: away is not reachable: "),
        (("nope",), 2, "no machine is called nope"),
    ],
)
def test_a_machine_that_can_not_be_checked_is_reported(
    home: Home, words: tuple[str, ...], status: int, says: str
) -> None:
    ran = home.run("machines", "check", *words)
    assert ran.status == status, (ran.out, ran.err)
    assert says in ran.out + ran.err
