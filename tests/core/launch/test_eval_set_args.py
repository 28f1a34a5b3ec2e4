import json

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.launch.plan.eval_set_args import EvalSetArgs, eval_set_args, worst_case
from core.launch.plan.matrix import expand
from tests.support.specs import spec

LOCAL = MachineConfig(name=MachineName("local"))
OTHER = """
task = "inspect_evals/gpqa_diamond"
model = "openai/gpt-4o"
machine = "local"
on_error = "stop"
"""


def _flags(more: str = "", *sets: str) -> EvalSetArgs:
    (launch,) = expand(spec(more, *sets, text=OTHER), [LOCAL])
    return eval_set_args(launch, log_dir="logs")


def _words(more: str = "", *sets: str) -> str:
    return " ".join(_flags(more, *sets).words)


BEFORE = "eval-set inspect_evals/gpqa_diamond --model openai/gpt-4o "


def test_the_words_of_a_spec_are_exactly_these() -> None:
    assert _words() == f"{BEFORE}--fail-on-error --retry-attempts 0 --log-dir logs"


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (("on_error=stop",), "--fail-on-error --retry-attempts 0"),
        (("on_error=continue",), "--continue-on-fail"),
        (("on_error={ tolerate = 0.1 }",), "--fail-on-error 0.1"),
        (("on_error={ tolerate = 5 }",), "--fail-on-error 5"),
        (("on_error={ tolerate = 0.00001 }",), "--fail-on-error 1.0e-05"),
        (("on_error=stop", "retry_attempts=3"), "--fail-on-error --retry-attempts 3"),
        (("on_error=continue", "retry_attempts=0"), "--continue-on-fail --retry-attempts 0"),
        (
            ("on_error=continue", "retry_attempts=2", "retry_on_error=4"),
            "--continue-on-fail --retry-attempts 2 --retry-on-error=4",
        ),
    ],
)
def test_what_happens_on_an_error_maps_to_exact_flags(sets: tuple[str, ...], words: str) -> None:
    assert _words("", *sets) == f"{BEFORE}{words} --log-dir logs"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("limit = 10", "--limit 10"),
        ("limit = [10, 20]", "--limit 10-20"),
        ("sample_ids = ['-a', 2, 'b c']", "--sample-id=-a,2,b c"),
        ("epochs = 3\ntoken_limit = '500k'\ncost_limit = 2",
         "--epochs 3 --token-limit 500k --cost-limit 2.0"),
        ("max_samples = 1\nmax_sandboxes = 2", "--max-samples 1 --max-sandboxes 2"),
    ],
)  # fmt: skip
def test_numbers_follow_their_options(more: str, words: str) -> None:
    expected = f"{BEFORE}{words} --fail-on-error --retry-attempts 0 --log-dir logs"
    assert _words(more) == expected


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("options = { max_tokens = 5 }", "--max-tokens=5"),
        ("options = { '--max-tokens' = 5 }", "--max-tokens=5"),
        ("options = { no_score = true }", "--no-score"),
        ("options = { log_images = false }", "--no-log-images"),
        ("options = { no_log_images = true }", "--no-log-images"),
        ("options = { cache = true }", "--cache"),
        ("options = { cache = '3d' }", "--cache=3d"),
        ("options = { sample_shuffle = 7 }", "--sample-shuffle=7"),
        ("options = { adaptive_connections = false }", "--adaptive-connections=false"),
        ("options = { system_message = '-x $(y)' }", "--system-message=-x $(y)"),
        ("options = { stop_seqs = ['a', 'b'] }", "--stop-seqs=a,b"),
        ("options = { extra_body = { a = 1e-5 } }", '--extra-body={"a": 1.0e-05}'),
        ("options = { S = { n = 1 } }", "-S n=1"),
        ("options = { scan_filter = ['a', 'b'] }", "--scan-filter a --scan-filter b"),
        ("options = { brand_new = 1 }", "--brand-new=1"),
        ("tags = ['-a', 'b c']", "--tags=-a,b c"),
        ("""metadata = { a = "it's" }""", """--metadata a="it's\""""),
        ("acp = true\nkeep = true", "--acp-server=true --ctl-server=keep"),
    ],
)  # fmt: skip
def test_options_follow_as_inspect_takes_them(more: str, words: str) -> None:
    assert _words(more).endswith(f"--retry-attempts 0 {words} --log-dir logs")


def test_plain_arguments_are_words_and_all_others_a_file() -> None:
    made = _flags(
        """
[args]
n = 5
share = 1e-5
flag = true
mode = "hard"
no = "no"
text = "it's $(x)\\nline two, with a comma"
many = [1, { a = "b" }]
[model_args]
dtype = "bfloat16"
path = "~/x y"
"""
    )
    words = " ".join(made.words)
    assert "--task-config task-args.json -T n=5 -T share=1.0e-05 -T flag=true -T mode=hard" in words
    assert "--model-config model-args.json -M dtype=bfloat16" in words
    assert json.loads(made.files["task-args.json"]) == {
        "no": "no", "text": "it's $(x)\nline two, with a comma", "many": [1, {"a": "b"}],
    }  # fmt: skip
    assert json.loads(made.files["model-args.json"]) == {"path": "~/x y"}


@pytest.mark.parametrize(
    ("task", "more", "word", "at_home"),
    [
        ("evalroom/smoke", "", "tasks/smoke.py@evalroom/smoke", False),
        ("simulusion/arithmetic", "", "tasks/arithmetic.py@evalroom/arithmetic", False),
        ("/a b/t.py@t", "", "/a b/t.py@t", False),
        ("~/a/t.py@t", "", "~/a/t.py@t", True),
        ("x/t.py@t", "code = { repository = 'https://h/r' }", "code/x/t.py@t", False),
        ("x/t.py@t", "code = '~/r/'", "~/r/x/t.py@t", True),
        ("/x/t.py@t", "code = '/r'", "/x/t.py@t", False),
        ("pkg/t", "code = '/r'", "pkg/t", False),
    ],
)
def test_a_task_is_named_from_where_inspect_runs(
    task: str, more: str, word: str, at_home: bool
) -> None:
    made = _flags(more, f"task={task}")
    assert made.words[1] == word
    assert (1 in made.at_home) is at_home


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (("on_error=continue", "limit=100"), "1100 sample runs (100 samples x 11)"),
        (("on_error=stop", "limit=100"), "100 sample runs"),
        (("on_error=stop", "limit=10-20", "epochs=2"), "22 sample runs"),
        (("on_error=continue",), "every sample of the task, 11 times"),
        (("on_error=continue", "retry_attempts=1", "retry_on_error=2", "sample_ids=[1,2]"),
         "12 sample runs (2 samples x 6)"),
        (("on_error=stop", "sample_ids=[1, '1', 'a']", "epochs=2"), "4 sample runs"),
        (("on_error=stop", "sample_ids=['a*', 'b']"), "every sample that matches sample_ids, once"),
        (("on_error=stop", "task=evalroom/arithmetic", "sample_ids=['*']"), "20 sample runs"),
        (("on_error=continue", "task=evalroom/smoke", "args.samples=7"),
         "77 sample runs (7 samples x 11)"),
        (("on_error=stop", "task=evalroom/arithmetic", "limit=500"), "20 sample runs"),
    ],
)  # fmt: skip
def test_the_worst_case_is_in_sample_runs(sets: tuple[str, ...], says: str) -> None:
    assert worst_case(spec("", *sets, text=OTHER)).says == says
