import pytest

from tests.support.commands import Home, machine
from tests.support.specs import SMOKE
from tests.support.uv import uv_env


@pytest.fixture
def far(home: Home) -> Home:
    """An operator with one machine that can be reached, and one that can't."""
    own = home.folder / ".local" / "share"  # the evals of other tests are not watched
    home.configure(machine("far", own, ["env"]) + machine("gone", command=["false"]))
    (home.folder / "s.toml").write_text(SMOKE + 'inspect = "0.3.285"\n')
    return home


def test_a_preview_lists_the_downloads_and_touches_nothing(far: Home) -> None:
    before = sorted(far.folder.rglob("*"))
    ran = far.run("machines", "prepare", "far", "s.toml", "--dry-run")
    assert ran.status == 0, ran.err
    head, uv, packages = (" ".join(line.split()) for line in ran.out.splitlines())
    assert head == "to download to far: 2 items"
    assert uv.startswith("uv 0.8.0 or newer to ~/.evalroom/bin/uv from this computer if the")
    assert packages == "packages inspect-ai==0.3.285 to uv's cache by uv"
    sets = ("--set", "task=inspect_evals/gpqa_diamond", "--set", "args={}")
    printed = far.run("machines", "prepare", "far", "s.toml", "--dry-run", "--json", *sets).json
    assert (printed["machine"], printed["dry_run"]) == ("far", True)
    assert [each["what"] for each in printed["items"]] == [
        "uv", "packages", "data", "tokenizer", "images",
    ]  # fmt: skip
    assert sorted(far.folder.rglob("*")) == before


def test_nothing_is_fetched_without_a_yes_or_where_nothing_may_be_changed(far: Home) -> None:
    ran = far.run("machines", "prepare", "far", "s.toml")
    assert (ran.status, "add --yes" in ran.err) == (4, True)
    ran = far.run("--read-only", "machines", "prepare", "far", "s.toml", "--yes", "--json")
    assert (ran.status, ran.json["error"]["kind"]) == (4, "not_confirmed")
    ran = far.run("--read-only", "machines", "prepare", "far", "s.toml", "--dry-run")
    assert (ran.status, "to download to far: 2 items" in ran.out) == (0, True)
    assert not (far.folder / ".evalroom").exists()


def test_a_machine_that_is_not_reached_a_secret_that_is_not_kept_and_wrong_words_are_reported(
    far: Home,
) -> None:
    prepare = ("machines", "prepare")
    ran = far.run(*prepare, "gone", "s.toml", "--yes", "--timeout", "3", "--json")
    assert (ran.status, ran.json["machine"]) == (3, "gone")
    assert ran.json["why"]
    (far.folder / "t.toml").write_text(
        SMOKE + 'code = { repository = "https://x/y", token = "forge" }\n'
    )
    ran = far.run(*prepare, "far", "t.toml", "--yes")
    assert (ran.status, "forge" in ran.err) == (1, True)
    assert far.run(*prepare, "far").status == 2
    assert far.run(*prepare, "none", "s.toml").status == 2


def test_with_a_given_interpreter_nothing_is_to_be_fetched(far: Home) -> None:
    (far.folder / "s.toml").write_text(SMOKE)
    ran = far.run("machines", "prepare", "far", "s.toml", "--yes")
    assert ran.status == 0
    assert ran.out == "nothing to download to far: the spec needs nothing from the network\n"


@pytest.mark.slow
def test_each_thing_is_answered_and_a_second_time_all_is_there(far: Home) -> None:
    words = ("machines", "prepare", "far", "s.toml", "--yes")
    ran = far.run(*words, env=uv_env(), timeout=250)
    assert ran.status == 0, ran.err
    assert ran.out.count("\nuv 0.8.0 or newer: done, ") == 1
    assert "packages inspect-ai==0.3.285: " in ran.out
    printed = far.run(*words, "--json", env=uv_env()).json
    assert {each["state"] for each in printed["items"]} == {"there"}
    ran = far.run(*words, "--set", "inspect=0.3.99999", "--json", env=uv_env())
    rows = {each["what"]: each for each in ran.json["items"]}
    assert (ran.status, rows["packages"]["state"]) == (1, "failed")
    assert "there is no version of inspect-ai==0.3.99999" in rows["packages"]["message"]
