import io
from pathlib import Path

import pytest

from core.errors import OnErrorMissing, SpecWrong
from core.launch.spec.spec import Code, Tolerate
from core.launch.spec.spec_reader import SPEC_KEYS, check_spec, read_spec
from tests.support.specs import SMOKE, spec

BASE = 'task = "a/b"\nmodel = "mockllm/model"\nmachine = "m"\non_error = "stop"\n'


def _wrong(more: str, *sets: str, text: str = BASE) -> list[str]:
    found, wrong = check_spec(text + more, "s.toml", sets=sets)
    assert found is None
    return [f"{each.message} | {each.advice}" for each in wrong]


def test_the_smallest_spec_is_read() -> None:
    read = spec()
    assert read.task == ("evalroom/smoke",)
    assert read.on_error == "continue"
    assert dict(read.args) == {"samples": 10, "pass_rate": 0.7}


def test_what_happens_on_an_error_is_asked_for_with_its_three_choices() -> None:
    with pytest.raises(OnErrorMissing) as caught:
        read_spec("-", stdin=_stdin(SMOKE.replace('on_error = "continue"\n', "")))
    choices = caught.value.advice.splitlines()[1:]
    assert [choice.strip().split(":")[0] for choice in choices] == [
        '"stop"', '"continue"', "{ tolerate = 0.1 }",
    ]  # fmt: skip
    assert caught.value.kind == "on_error_missing"


def test_of_several_wrong_fields_each_is_reported_once_and_the_file_once() -> None:
    with pytest.raises(SpecWrong) as caught:
        read_spec(
            "-",
            stdin=_stdin('task = "evalroom/smok"\nmodel = "a/b"\ngpus = -1\non_error = "stop"\n'),
        )
    words = f"{caught.value.message} {caught.value.advice}"
    assert words.count("standard input") == 1
    assert 'standard input: "machine" is missing' in words
    assert words.endswith(
        '(also: line 1: "task" is wrong: "evalroom/smok"; line 3: "gpus" is wrong: -1)'
    )
    [told_of_task] = _wrong("", text=BASE.replace("a/b", "evalroom/smok"))
    assert told_of_task.endswith('allowed: "evalroom/arithmetic" or "evalroom/smoke"')


def test_a_blank_of_a_template_is_missing_too() -> None:
    problems = _wrong("", text=BASE.replace('"stop"', '""').replace('"a/b"', '""'))
    assert any('"on_error" is missing' in each for each in problems)
    assert any('"task" is missing' in each for each in problems)
    [told_of_code] = _wrong('code = { repository = "", ref = "main" }\n')
    assert '"code.repository" is missing' in told_of_code


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("epoch = 3", ('line 5: unknown key "epoch"', 'did you mean "epochs"?')),
        ("\n\nepochs = 0", ('line 7: "epochs" is wrong: 0', "a whole number from 1")),
        ("epochs = true", ('"epochs" is wrong: true',)),
        ("limit = '20-10'", ('"limit" is wrong: "20-10"', 'like "10-20"')),
        ("limit = [3]", ('"limit"',)),
        ("sample_ids = ['a,b']", ('"sample_ids[0]" is wrong: "a,b"', "without commas")),
        ("limit = 1\nsample_ids = [1]", ("are both set",)),
        ("engine = 'slurm'", ('"engine" is wrong: "slurm"', '"detach" or "tmux"')),
        ("display = 'full'", ('"display" needs an engine with a terminal',)),
        ("gpus = -1", ('"gpus" is wrong: -1',)),
        ("gpus = 1\nenv = { CUDA_VISIBLE_DEVICES = '0' }", ('"gpus" and the variable "CUDA_V',)),
        ("[options]\ntemprature = 1", ('unknown key "temprature" in options', '"temperature"')),
        ("options = { limit = 1 }", ('"options.limit"', 'use the key "limit"')),
        ("options = { fail-on-error = 1 }", ('use the key "on_error"',)),
        ("options = { no_score = false }", ('"options.no_score"', "true, or leave it out")),
        ("options = { max_tokens = true }", ("a value, not true",)),
        ("tags = ['a,b']", ('"tags[0]" is wrong: "a,b"', "without commas")),
        ("metadata = { a = 'b,c' }", ('"metadata.a"', "without commas")),
        ("args = { 'a-b' = 1 }", ('"args.a-b"', "a valid Python name")),
        ("args = { when = 2026-01-01 }", ('"args.when"', "a finite number")),
        ("args = { when = nan }", ('"args.when"', "a finite number")),
        ("args = { a = { b = [1, inf] } }", ('"args.a.b[1]"',)),
        ("token_limit = 'many'", ('"token_limit" is wrong: "many"', '"500k"')),
        ("cost_limit = -1", ('"cost_limit" is wrong: -1', "dollars")),
        ("python = 'ruby'", ('"python" is wrong: "ruby"',)),
        ("inspect = '>=0.3'", ('"inspect" is wrong: ">=0.3"',)),
        ("packages = ['-e .']", ('"packages[0]" is wrong',)),
        ("packages = 'six'", ('a list of packages, like ["one", "two"]',)),
        ("inherit = ['PATH']", ("INSPECT_",)),
        ("env = { EVALROOM_RUN = 'x' }", ("evalroom sets those",)),
        ("env = { HOME = '/x' }", ("any variable but HOME",)),
        ("env = { '1A' = 'x' }", ("the name of a variable",)),
        ("env = { A = true }", ('text, like "1" or "true"',)),
        ("secrets = ['A', 'A']", ('"secrets[1]"', "once")),
        ("secrets = ['A']\nenv = { A = '1' }", ('in both "env" and "secrets"',)),
        ("code = { ref = 'main' }", ('"code" is wrong', "either a repository or a directory")),
        ("code = { repository = 'https://h/r', dir = '/x' }", ('unknown key "dir" in code',)),
        ("code = { directory = 'rel' }", ('"code.directory"', 'starts with "/" or "~/"')),
        ("code = { repository = 'git@h:o/r', token = 'a' }", ('"code.token"', "https:// URL")),
        ("log_dir = 'logs'", ('"log_dir" is wrong', "s3://")),
        ("model_roles = { grader = { temperature = 1 } }", ('the key "model"',)),
        ("base_url = 'localhost:8000'", ('"base_url" is wrong', "a URL")),
        ("retry_attempts = -1", ('"retry_attempts" is wrong: -1',)),
    ],
)  # fmt: skip
def test_a_wrong_field_says_its_name_its_value_and_what_is_allowed(
    more: str, says: tuple[str, ...]
) -> None:
    (problems, *_) = _wrong(more)
    assert problems.startswith("s.toml")
    for each in says:
        assert each in problems


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("task", '"nope"', '"package/name"'),
        ("task", '"evalroom/smok"', '"evalroom/smoke"'),
        ("task", '"-x/y"', '"package/name"'),
        ("task", '"sub/x.py"', '"path/to/file.py@name"'),
        ("task", '"sub/x.py@t"', "add code"),
        ("task", "[]", "not empty"),
        ("task", '["a/b", "a/b"]', "once"),
        ("model", '"gpt-4o"', '"provider/name"'),
        ("model", '"a/b,c/d"', '"provider/name"'),
        ("machine", '"a b"', "1 to 63 of the characters"),
        ("on_error", '"fail"', '"stop", "continue" or { tolerate = 0.1 }'),
        ("on_error", "{ tolerate = 0 }", "above 0 and below 1"),
        ("on_error", "{ tolerate = 1 }", "with 1 the first error"),
        ("on_error", "{ tolerate = 2.5 }", "whole number of errors"),
        ("on_error", "{ tolerates = 2 }", 'did you mean "tolerate"?'),
    ],
)
def test_the_keys_of_every_spec_are_checked(key: str, value: str, says: str) -> None:
    lines = [line for line in BASE.splitlines() if not line.startswith(key)]
    (problems, *_) = _wrong("", text="\n".join((*lines, f"{key} = {value}")))
    assert f'"{key}' in problems or key in problems
    assert says in problems


@pytest.mark.parametrize(
    "more",
    [
        "env = { OPENAI_API_KEY = 'sk-123456789' }",
        "model_args = { api_key = 'sk-123456789' }",
        "options = { extra_headers = { Authorization = 'Bearer sk-123456789' } }",
        "model_roles = { grader = { model = 'openai/x', api_key = 'sk-123456789' } }",
        "base_url = 'http://me:sk-123456789@host/'",
        "code = { repository = 'https://me:sk-123456789@host/r' }",
        "code = { repository = 'https://h/r', token = 'sk-123456789 ' }",
        "args = { token = 'sk-123456789' }",
        "secrets = { A = 'the value: sk-123456789' }",
        "packages = ['x @ https://me:sk-123456789@host/x.whl']",
        "log_dir = 's3://me:sk-123456789@bucket'",
    ],
)
def test_a_secret_is_given_by_name_and_its_value_is_in_no_error(more: str) -> None:
    (problems, *_) = _wrong(more)
    assert "123456789" not in problems


def test_a_placeholder_for_a_key_is_not_a_secret() -> None:
    assert spec("env = { LOCAL_API_KEY = 'none' }").env["LOCAL_API_KEY"] == "none"


def test_an_argument_that_a_built_in_task_has_not_is_found() -> None:
    (problem,) = _wrong("", "args.pass_rat=1", text=SMOKE)
    assert 'did you mean "pass_rate"?' in problem


def test_every_key_is_taken() -> None:
    read = spec(
        """
retry_attempts = 2
retry_on_error = 1
limit = "10-20"
epochs = 2
message_limit = 1
token_limit = "output:1m"
time_limit = 1
working_limit = 1
turn_limit = 1
cost_limit = 1.5
max_samples = 1
max_tasks = 1
max_connections = 1
max_sandboxes = 1
max_subprocesses = 1
options = { max_tokens = 5, no_score = true, S = ["a=1"] }
base_url = "http://localhost:8000/v1"
model_args = { x = 1 }
model_roles = { grader = "openai/gpt-4o", others = ["a/b", { model = "c/d" }] }
gpus = 2
code = { repository = "https://host/o/r", ref = "main", token = "deploy" }
packages = ["inspect-evals[cybench]>=0.3"]
inspect = "0.3.285"
python = "3.12"
env = { A = "b", N = 1 }
secrets = { OPENAI_API_KEY = "work" }
inherit = ["INSPECT_LOG_LEVEL"]
engine = "tmux"
keep = true
acp = true
display = "rich"
log_dir = "s3://bucket/x"
tags = ["t"]
metadata = { a = [1, "x"] }
notes = "two\\nlines"
"""
    )
    assert read.limit == (10, 20)
    assert read.code == Code(repository="https://host/o/r", ref="main", token="deploy")
    assert read.env["N"] == "1"
    assert {"sample_ids"} == set(SPEC_KEYS) - {
        line.split(" =")[0] for line in (SMOKE + _every()).splitlines()
    }


def _every() -> str:
    return "\n".join(f"{key} = 1" for key in SPEC_KEYS if key != "sample_ids")


@pytest.mark.parametrize(("output", "is_"), [("0.1", 0.1), ("5", 5), ("5.0", 5)])
def test_a_threshold_is_a_share_or_a_number(output: str, is_: float) -> None:
    assert spec("", f"on_error={{ tolerate = {output} }}").on_error == Tolerate(is_)


def test_json_is_read_too_and_null_is_an_argument() -> None:
    text = (
        '{"task": "a/b", "model": "m/x", "machine": "m", "on_error": "stop", "args": {"a": null}}'
    )
    assert spec(text=text).args == {"a": None}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"task": 1,', "invalid JSON"),
        ('{"task": "a/b", "task": "a/c"}', '"task" appears twice'),
        ("task = ", "fix the TOML syntax"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ('{"a":' * 5000, "nested too deeply"),
        ("limit = " + "9" * 5000, "too many digits"),
    ],
    ids=range(6),
)
def test_a_file_that_is_neither_is_reported_in_a_sentence(text: str, says: str) -> None:
    problems = [f"{e.message} {e.advice}" for e in check_spec(text, "s")[1]]
    assert says in problems[0]


def test_set_overrides_the_file_and_is_named_when_wrong() -> None:
    read = spec("", "limit=5", "args.samples=20", 'machine=["a","b"]', "notes=some words")
    assert (read.limit, read.args["samples"], read.machine) == (5, 20, ("a", "b"))
    assert read.notes == "some words"
    (problem,) = _wrong("", "limit=0")
    assert problem.startswith('--set: "limit" is wrong: 0')
    (problem,) = _wrong("", "limit")
    assert "is not key=value" in problem


def test_of_several_wrongs_all_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(BASE + "epochs = 0\ngpus = -1\n")
    with pytest.raises(SpecWrong) as caught:
        read_spec(str(file))
    assert "line 5" in caught.value.message
    assert "line 6" in caught.value.advice


@pytest.mark.parametrize(
    "content", [b"\xff", b"x" * (1 << 20) + b"x"], ids=["no text", "too large"]
)
def test_a_file_that_does_not_exist_is_reported(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(content)
    with pytest.raises(SpecWrong):
        read_spec(str(file))
    with pytest.raises(SpecWrong, match="does not exist"):
        read_spec(str(tmp_path / "none"))
    with pytest.raises(SpecWrong, match="can't read"):
        read_spec(str(tmp_path))


def _stdin(text: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()))
