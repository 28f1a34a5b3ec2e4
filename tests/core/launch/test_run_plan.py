import re

import pytest

from core.config.model import MachineConfig
from core.errors import SpecWrong
from core.ids import MachineName
from core.launch.plan.matrix import expand
from core.launch.plan.run_plan import UV_PATH, RunPlan, make_plan, run_id
from ssh.run_files import run_files
from tests.support.specs import LOCAL, SMOKE, plan, plans, spec

FAR = MachineConfig(name=MachineName("local"))
"""Over SSH, with no interpreter of its own given."""


def test_ids_of_runs_sort_by_their_start_and_fit_everywhere() -> None:
    ids = [run_id(now, bytes(range(number, number + 8))) for number, now in enumerate((0, 1e9))]
    assert ids == sorted(ids)
    assert all(re.fullmatch(r"[a-z0-9-]{24}", each) for each in ids)
    assert run_id(0, b"\xff" * 8) == "19700101-000000-zzzzzzzz"


def test_a_plan_names_all_that_is_written() -> None:
    made = plan(spec())
    assert set(made.files) == {"spec.toml", "start.sh", ".env", "tasks/smoke.py"}
    assert made.files["spec.toml"].decode() == SMOKE
    assert made.files["start.sh"].decode() == made.script
    assert made.files[".env"] == b""
    assert made.variables == {"EVALROOM_RUN": made.run}
    assert made.command[1:] == (
        "-m", "inspect_ai", "eval-set", "tasks/smoke.py@evalroom/smoke", "--model",
        "mockllm/model", "-T", "samples=10", "-T", "pass_rate=0.7", "--continue-on-fail",
        "--log-dir", "logs", "--metadata", f"evalroom_run={made.run}", "--detach",
    )  # fmt: skip
    assert made.worst.says == "110 sample runs (10 samples x 11)"


@pytest.mark.parametrize(
    ("more", "machine", "begins"),
    [
        ("", LOCAL, ("/own/python", "-m", "inspect_ai", "eval-set")),
        ("", FAR, (UV_PATH, "tool", "run", "--offline", "--from", "inspect-ai==0.3.285", "inspect",
                   "eval-set")),
        ("python = '/v/bin/python'", FAR, ("/v/bin/python", "-m", "inspect_ai", "eval-set")),
        (
            "python = '3.12'\ninspect = '0.3.280'\npackages = ['openai', 'x>=1']",
            FAR,
            (UV_PATH, "tool", "run", "--offline", "--python", "3.12",
             "--from", "inspect-ai==0.3.280",
             "--with", "openai", "--with", "x>=1", "inspect", "eval-set"),
        ),
        (
            "",
            MachineConfig(name=MachineName("local"), python="~/v/bin/python"),
            ("~/v/bin/python", "-m", "inspect_ai", "eval-set"),
        ),
    ],
)  # fmt: skip
def test_inspect_runs_by_what_is_given_and_else_by_uv(
    more: str, machine: MachineConfig, begins: tuple[str, ...]
) -> None:
    (made,) = plans(spec(more), machine=machine, own_python="/own/python")
    assert made.command[: len(begins)] == begins
    if begins[0].startswith("~/"):
        assert f"\"$HOME\"'{begins[0][1:]}'" in made.script
        assert made.command_line.startswith(f"\"$HOME\"'{begins[0][1:]}'")


def test_the_data_folder_is_pinned() -> None:
    assert 'XDG_DATA_HOME="$HOME/.local/share"' in plan(spec()).script
    machine = MachineConfig(name=MachineName("local"), link="command", data_dir="~/d d")
    assert "export XDG_DATA_HOME=\"$HOME\"'/d d'" in plan(spec(), machine=machine).script


def test_code_is_importable_from_where_it_is() -> None:
    text = SMOKE.replace("evalroom/smoke", "x/t.py@t").replace("args", "#")
    here = plan(spec("code = '~/r'", text=text))
    assert "PYTHONPATH=\"$HOME\"'/r'" in here.script
    assert "~/r/x/t.py@t" in here.command
    there = plan(spec("code = { repository = 'https://h/r' }", text=text))
    assert "PYTHONPATH=\"$PWD\"/'code'" in there.script
    assert any("code has no ref" in each for each in there.warnings)


def test_secrets_are_names_and_come_by_standard_input_or_a_file_outside() -> None:
    detached = plan(spec("secrets = { OPENAI_API_KEY = 'work' }"))
    assert detached.secrets == {"OPENAI_API_KEY": "work"}
    assert detached.secrets_from == "-"
    shown = plan(spec("secrets = ['OPENAI_API_KEY']\nengine = 'tmux'"))
    assert shown.secrets_from == f"~/.evalroom/secrets/{shown.run}"
    assert f"\"$HOME\"'/.evalroom/secrets/{shown.run}'" in shown.script
    assert shown.directory not in (shown.secrets_from or "")


def test_a_terminal_engine_shows_inspects_own_display() -> None:
    shown = plan(spec("engine = 'tmux'"))
    assert shown.command[-2:] == ("--display", "full")
    assert "--detach" not in shown.command
    assert "launch.json" not in shown.script.split("exec ")[1]


def test_runs_of_one_matrix_share_no_log_folder() -> None:
    asked = spec("log_dir = '~/logs/'", 'model=["mockllm/model", "mockllm/other"]')
    made = plans(asked)
    assert [each.log_dir for each in made] == [f"~/logs/{each.run}" for each in made]
    assert plan(spec("log_dir = '~/logs'")).log_dir == "~/logs"


def _warnings(more: str, *sets: str, **how: MachineConfig) -> str:
    return "\n".join(plan(spec(more, *sets), **how).warnings)


@pytest.mark.parametrize(
    ("more", "sets", "says"),
    [
        ("", ("model=openai/x",), "openai/x needs OPENAI_API_KEY: add it to secrets"),
        ("", ("model=openai-api/acme/x",), "needs ACME_BASE_URL: add it to env"),
        ("", ("model=mine/x",), "has no provider mine: a package must add it"),
        ("", ("model=vllm/x",), "gpus is 0"),
        ("", ("on_error=stop", "retry_attempts=2"), "but retry_attempts"),
        ("options = { brand_new = 1 }", (), "no option brand-new"),
        ("options = { traceback_locals = true }", (), "including API keys"),
        ("packages = ['a']\npython = '/p'", (), "without the packages"),
    ],
)
def test_warnings_are_given(more: str, sets: tuple[str, ...], says: str) -> None:
    assert says in _warnings(more, *sets)


def test_nothing_is_minded_where_all_is_well() -> None:
    assert _warnings("") == ""
    given = "secrets = ['OPENAI_API_KEY']"
    assert _warnings(given, "model=openai/x") == ""
    with_url = "secrets = ['ACME_API_KEY']\nbase_url = 'https://h/v1'"
    assert _warnings(with_url, "model=openai-api/acme/x") == ""


def test_packages_that_are_lacking_are_offered() -> None:
    text = SMOKE.replace("evalroom/smoke", "inspect_evals/gpqa_diamond").replace("args", "#")
    made = plan(spec("secrets=['OPENAI_API_KEY']", "model=openai/x", text=text), machine=FAR)
    assert any('packages = ["inspect-evals"]' in each for each in made.warnings)
    assert any('packages = ["openai"]' in each for each in made.warnings)
    more = "secrets=['OPENAI_API_KEY']\npackages = ['Inspect_Evals[x]>=0.3', 'openai']"
    assert plan(spec(more, "model=openai/x", text=text), machine=FAR).warnings == ()


def test_a_plan_says_that_its_machine_is_chosen_later() -> None:
    machines = [MachineConfig(name=MachineName(name), tags=("gpu",)) for name in ("a", "b")]
    (launch,) = expand(spec("", "machine=gpu"), machines)
    made = _plan(launch.candidates[1], machines)
    assert made.machine == "b"
    assert any('"gpu" stands for a, b' in each for each in made.warnings)
    with pytest.raises(SpecWrong, match="may not run on"):
        _plan("b", machines, asked="a")


def _plan(name: str, machines: list[MachineConfig], asked: str = "gpu") -> RunPlan:
    (launch,) = expand(spec("", f"machine={asked}"), machines)
    (machine,) = [each for each in machines if each.name == name]
    return make_plan(
        launch, machine, run=run_id(0, bytes(8)), built_in=run_files(),
        inspect_version="0.3.285",
    )  # fmt: skip
