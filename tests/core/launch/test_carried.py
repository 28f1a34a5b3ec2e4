"""Values in command lines and files, read back by Inspect's parser, TOML and a shell."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai._util.config import parse_cli_args

from core.launch.plan.bootstrap import BOOTSTRAP
from core.launch.plan.start_script import StartOptions, start_script
from core.launch.spec.spec_reader import check_spec
from core.launch.spec.spec_writer import spec_file
from core.launch.spec.yaml_quote import plain, word_value, yaml_value
from tests.support.specs import SMOKE
from tests.support.waiting import WAIT_S

# Text as TOML and UTF-8 have it: no lone surrogates.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
TRICKY = st.sampled_from(
    ["", "'", '"', "$(id)", "`id`", "-x", "--json", "a\nb", "no", "~", "1e5", "0x1", "2026-01-01",
     "a,b", "{a: b}", "[1", "#x", "a: b", "*x", "&x", "!x", "\\", "\x1b[31m", "\u202e", "\u2028",
     "\x85", "\x7f", "\ufeff", "é", "😀", "NULL", "=", "a=b", ".5", ".inf", "1_000", "0o7", "12:30"]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False) | TEXT | TRICKY
)  # fmt: skip
KEYS = (TEXT | TRICKY).filter(lambda text: "\0" not in text)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=5,
)
QUICK = settings(max_examples=150)


@QUICK
@given(VALUES)
def test_a_value_reads_back_from_yaml_as_it_was(value: Any) -> None:
    text = yaml_value(value)
    assert "\n" not in text
    assert _typed(yaml.safe_load(text)) == _typed(value)


@QUICK
@given(SCALARS)
def test_a_plain_word_reaches_a_task_with_its_type(value: Any) -> None:
    word = word_value(value)
    if word is not None:
        assert _typed(parse_cli_args([f"key={word}"])) == _typed({"key": value})


@QUICK
@given(st.dictionaries(st.sampled_from(["a", "b_2", "no"]), VALUES, max_size=3), KEYS)
def test_a_spec_reads_back_from_its_text(args: dict[str, Any], notes: str) -> None:
    source = {
        "task": "a/b", "model": ["m/x", "m/y"], "machine": "m", "on_error": {"tolerate": 0.25},
        "args": args, "notes": notes, "limit": [2, 3], "code": {"directory": "/x y"},
        "secrets": {"A": "b"}, "gpus": 1, "keep": True,
    }  # fmt: skip
    spec, wrong = check_spec(json.dumps(source), "x")
    if any("no secret" in each.advice for each in wrong):
        return
    assert spec is not None, wrong
    name, text = spec_file(spec)
    again, wrong = check_spec(text.decode(), name)
    assert again == spec, wrong


def test_the_smallest_spec_is_its_own_text() -> None:
    spec, _ = check_spec(SMOKE, "x")
    assert spec is not None
    assert spec_file(spec)[1].decode() == SMOKE


_DUMP = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['ASKED']]))"


@settings(max_examples=12)
@given(st.lists(KEYS, max_size=30), KEYS)
def test_a_script_hands_on_every_word_byte_for_byte(words: list[str], asked: str) -> None:
    text = start_script(
        StartOptions(
            run="r", directory="/", words=(sys.executable, "-c", _DUMP, *words),
            at_home=frozenset(), starter=sys.executable, variables={"ASKED": asked}, secrets=(),
            secrets_from=None, inherit=(), data_dir=None, python_path=None, has_terminal=True,
        )
    )  # fmt: skip
    text = text.replace("if ! mkdir started", "if ! true")  # nothing is left behind in /
    done = subprocess.run(
        ["/bin/sh"], input=text.encode(), capture_output=True, timeout=WAIT_S, check=False,
        env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "HOME": "/"},
    )  # fmt: skip
    assert json.loads(done.stdout) == [words, asked], done.stderr


def _typed(value: Any) -> Any:
    """Tell 1, 1.0 and True apart."""
    if isinstance(value, dict):
        return {key: _typed(each) for key, each in plain(value).items()}
    if isinstance(value, list):
        return [_typed(each) for each in plain(value)]
    return type(value).__name__, value


@pytest.mark.parametrize("source", ["-", "file"])
def test_secrets_are_read_once_and_variables_of_inspect_go(source: str, tmp_path: Path) -> None:
    given = json.dumps({"A_KEY": "it's\n$(x)"})
    file = tmp_path / "secrets"
    file.write_text(given)
    dump = "import json, os, sys; print(json.dumps([dict(os.environ), sys.stdin.read()]))"
    where = "-" if source == "-" else str(file)
    done = subprocess.run(
        [sys.executable, "-I", "-c", BOOTSTRAP, "INSPECT_STAYS", "A_KEY", where, sys.executable,
         "-c", dump],
        input=f"{given}\nmore", text=True, capture_output=True, timeout=WAIT_S, check=False,
        env={"INSPECT_STAYS": "1", "INSPECT_GOES": "1", "OTHER": "1"},
    )  # fmt: skip
    environ, rest = json.loads(done.stdout)
    assert environ["A_KEY"] == "it's\n$(x)"
    assert {"INSPECT_STAYS", "OTHER"} <= set(environ)
    assert "INSPECT_GOES" not in environ
    assert rest == ""
    assert file.exists() is (source == "-")
