import json

from tests.support.commands import Home
from tests.support.specs import SMOKE


def test_a_dry_run_prints_the_whole_plan_and_touches_nothing(home: Home) -> None:
    (home.folder / "s.toml").write_text(SMOKE)
    before = sorted(home.folder.rglob("*"))
    ran = home.run("launch", "s.toml", "--dry-run")
    assert ran.status == 0, ran.err
    for each in (
        "run 20", "evalroom/smoke", "continue (--continue-on-fail): all samples run",
        "110 sample runs (10 samples x 11)", "EVALROOM_RUN=", "start.sh", "0600", "umask 077",
        "logs     ~/.evalroom/runs/20",
        "eval-set tasks/smoke.py@evalroom/smoke --model mockllm/model",
    ):  # fmt: skip
        assert each in ran.out
    assert sorted(home.folder.rglob("*")) == before


def test_the_plan_is_json_too_with_set_and_standard_input(home: Home) -> None:
    home.configure(
        '[[machines]]\nname = "a"\nlink = "command"\ntags = ["gpu"]\n'
        '[[machines]]\nname = "b"\nlink = "command"\ntags = ["gpu"]\n'
    )
    (home.folder / "s.json").write_text(
        json.dumps(
            {"task": ["evalroom/smoke", "evalroom/arithmetic"], "model": "openai/x",
             "machine": ["a", "b"], "on_error": {"tolerate": 2}, "secrets": ["OPENAI_API_KEY"]}
        )
    )  # fmt: skip
    ran = home.run("launch", "s.json", "--dry-run", "--json", "--set", "limit=3")
    plans = ran.json["plans"]
    assert [(each["task"], each["machine"]) for each in plans] == [
        ("evalroom/smoke", "a"), ("evalroom/smoke", "b"),
        ("evalroom/arithmetic", "a"), ("evalroom/arithmetic", "b"),
    ]  # fmt: skip
    first = plans[0]
    assert first["on_error"]["flags"] == ["--fail-on-error", "2"]
    assert first["worst_case"] == {
        "attempts": 11, "samples": 3, "says": "33 sample runs (3 samples x 11)",
    }  # fmt: skip
    assert (first["secrets"], first["secrets_from"]) == ({"OPENAI_API_KEY": "OPENAI_API_KEY"}, "-")
    assert first["environment"] == {"EVALROOM_RUN": first["run_id"]}
    assert {each["path"] for each in first["files"]} == {
        "spec.toml", "start.sh", ".env", "tasks/smoke.py",
    }  # fmt: skip
    assert len({each["run_id"] for each in plans}) == 4


def test_a_wrong_spec_is_reported_with_its_line_and_ends_with_an_error(home: Home) -> None:
    (home.folder / "s.toml").write_text(SMOKE + "epoch = 3\n")
    ran = home.run("launch", "s.toml", "--dry-run", "--json")
    assert ran.status == 1
    assert ran.json["error"]["kind"] == "spec_wrong"
    assert 's.toml, line 6: unknown key "epoch"' in ran.json["error"]["message"]


def test_what_happens_on_an_error_is_asked_for(home: Home) -> None:
    (home.folder / "s.toml").write_text(SMOKE.replace('"continue"', '""'))
    ran = home.run("launch", "s.toml", "--dry-run")
    assert ran.status == 1
    assert '"stop": the first errored sample ends the task' in ran.err


def test_a_machine_that_the_config_lacks_is_reported(home: Home) -> None:
    (home.folder / "s.toml").write_text(SMOKE.replace('"local"', '"locl"'))
    ran = home.run("launch", "s.toml", "--dry-run")
    assert 'did you mean "local"?' in ran.err


def test_templates_are_listed_and_printed(home: Home) -> None:
    own = home.config.parent / "templates"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text("# Mine\n" + SMOKE)
    listed = home.run("templates", "--json").json["templates"]
    assert [each["name"] for each in listed] == [
        "smoke", "arithmetic", "intercode", "cybench", "gpqa", "own", "mine",
    ]  # fmt: skip
    assert listed[0]["fill_in"] == ["on_error"]
    printed = home.run("templates", "mine")
    assert printed.out == "# Mine\n" + SMOKE
    assert "yours" in home.run("templates").out
    assert home.run("templates", "none").status == 1
