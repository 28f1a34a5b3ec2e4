"""The launch form without a screen: text to a spec and back, checked, kept as a draft."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.model import MachineConfig
from core.errors import SpecWrong
from core.ids import MachineName
from core.launch.form.field_text import (
    FieldKind,
    FieldUnreadable,
    field_line,
    field_value,
    split_items,
)
from core.launch.form.fields import FIELD_BY_KEY
from core.launch.form.form import Form, draft_of, form_of_draft, form_of_run, form_of_template
from core.launch.form.model_variables import model_variables
from core.launch.form.validation import check_form, withheld_keys
from core.launch.spec.spec_reader import SPEC_KEYS, check_table
from core.launch.spec.spec_writer import spec_table
from core.launch.spec.templates import BUILT_IN_TEMPLATES, Template
from core.launch.spec.yaml_quote import plain
from tests.support.specs import LOCAL, spec

GPU = MachineConfig(name=MachineName("h100"), tags=("gpu",))
SMOKE = form_of_template(BUILT_IN_TEMPLATES[0]).typed("on_error", "continue")

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9, allow_nan=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)


def test_every_key_of_a_spec_has_a_field() -> None:
    assert set(FIELD_BY_KEY) == set(SPEC_KEYS)


@given(st.dictionaries(_TEXT.filter(bool), _JSON, max_size=4))
def test_a_table_comes_through_its_line_as_it_was(table: dict[str, Any]) -> None:
    line = field_line("table", table)
    assert "\n" not in line
    assert field_value("table", line) == table


@given(st.lists(_TEXT.filter(lambda each: each.strip() == each and each), max_size=4))
def test_a_list_of_words_comes_through_its_line_as_it_was(words: list[str]) -> None:
    assert field_value("list of words", field_line("list of words", words)) == words


@given(_TEXT.filter(bool))
def test_a_text_comes_through_its_line_as_it_was(text: str) -> None:
    assert field_value("words", field_line("words", text)) == text


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [
        ("one or many", "a/b, c/d", ["a/b", "c/d"]),
        ("one or many", "path, with.py@x", ["path", "with.py@x"]),
        ("one or many", '"path, with.py@x"', "path, with.py@x"),
        ("table", "level = hard, deep = { a = [1, 2] }", {"level": "hard", "deep": {"a": [1, 2]}}),
        ("table", '{ level = "hard" }', {"level": "hard"}),
        ("table of words", "PORT = 8000, ON = true", {"PORT": "8000", "ON": "true"}),
        ("list of values", '1, 007, "2"', [1, "007", "2"]),
        ("list of words", '["a", b]', ["a", "b"]),
        ("named", "A_KEY, B_KEY = other", {"A_KEY": "A_KEY", "B_KEY": "other"}),
        ("code", "~/evals", "~/evals"),
        ("code", "repository = https://h/x?a=b", {"repository": "https://h/x?a=b"}),
        ("on_error", "tolerate 0.1", {"tolerate": 0.1}),
        ("on_error", "{ tolerate = 5 }", {"tolerate": 5}),
        ("value", "10-20", "10-20"),
        ("value", "500k", "500k"),
    ],
)
def test_typed_values_have_a_meaning(kind: FieldKind, typed: str, value: Any) -> None:
    assert field_value(kind, typed) == value


def test_a_comma_in_quotes_or_brackets_ends_nothing_and_an_apostrophe_opens_nothing() -> None:
    assert split_items('a = "x, y", b = [1, 2], c = it\'s') == [
        'a = "x, y"',
        "b = [1, 2]",
        "c = it's",
    ]


def test_text_that_is_not_a_table_is_reported_without_being_repeated() -> None:
    with pytest.raises(FieldUnreadable) as wrong:
        field_value("table", "sk-CANARY-0123456789")
    assert "CANARY" not in wrong.value.why


@pytest.mark.parametrize("template", BUILT_IN_TEMPLATES, ids=lambda each: each.name)
def test_a_template_asks_for_what_is_blank_in_it_and_for_nothing_else(template: Template) -> None:
    checked = check_form(form_of_template(template), [LOCAL])
    assert {"on_error"} <= set(checked.wrong)
    blank = {key.partition(".")[0] for key in template.blanks}
    assert set(checked.wrong) == blank
    assert {each.what for each in checked.wrong.values()} == {"needed"}


def test_an_own_template_that_is_not_toml_is_reported() -> None:
    with pytest.raises(SpecWrong, match="mine"):
        form_of_template(Template(name="mine", title="", text="task = ", blanks=()))


def test_a_whole_spec_comes_through_the_form_as_it_was() -> None:
    asked = spec(
        'packages = ["inspect-evals>=1,<2"]\nsample_ids = [1, "1", "a b"]\nmax_samples = 4\n'
        'env = { A = "x, y", B = "" }\nsecrets = { K_KEY = "other" }\ntags = ["a b"]\n'
        'metadata = { n = 1 }\nnotes = "two\\nlines"\nmodel_roles = { grader = "openai/gpt-4o" }\n'
        'options = { seed = 7 }\ncode = { repository = "https://h/x", ref = "main" }\n'
        'token_limit = "500k"\ncost_limit = 1.5\nengine = "tmux"\ndisplay = "plain"\nkeep = true\n'
    )
    form = form_of_run("r", spec_table(asked))
    checked = check_form(form, [LOCAL])
    assert not checked.wrong
    assert checked.spec == asked
    again, wrong = check_table(plain(checked.table))
    assert (again, wrong) == (asked, ())


def test_of_a_run_a_blank_keeps_what_was_and_a_dash_leaves_it_out() -> None:
    form = form_of_run("r", spec_table(spec("max_samples = 4\nsecrets = ['K_KEY']\n")))
    blank = form.typed("max_samples", "").typed("secrets", "  ")
    kept = check_form(blank, [LOCAL]).spec
    assert kept is not None
    assert (kept.max_samples, dict(kept.secrets)) == (4, {"K_KEY": "K_KEY"})
    without = check_form(form.typed("max_samples", "-"), [LOCAL]).spec
    assert without is not None
    assert without.max_samples is None


def test_a_mistake_is_reported_by_its_field_and_a_wrong_machine_before_the_rest_is_right() -> None:
    form = form_of_template(BUILT_IN_TEMPLATES[0])
    form = form.typed("limit", "few").typed("machine", "nowhere").typed("args", "samples")
    wrong = check_form(form, [GPU]).wrong
    assert "few" in wrong["limit"].what
    assert "whole number" in wrong["limit"].advice
    assert "nowhere" in wrong["machine"].what
    assert "h100" in wrong["machine"].advice
    assert "name = value" in wrong["args"].advice
    assert wrong["on_error"].what == "needed"


def test_a_key_that_no_spec_has_keeps_its_field_until_it_is_blank() -> None:
    own = Template(
        name="mine", title="", text='tasks = "x"\n' + BUILT_IN_TEMPLATES[0].text, blanks=()
    )
    form = form_of_template(own).typed("on_error", "stop")
    assert "tasks" in form.keys
    assert "did you mean" in check_form(form, [LOCAL]).wrong["tasks"].advice
    assert check_form(form.typed("tasks", ""), [LOCAL]).is_ready


def test_lists_make_a_matrix_and_its_warnings_are_at_their_fields() -> None:
    form = SMOKE.typed("model", "mockllm/model, openai/gpt-4o").typed("machine", "local, gpu")
    checked = check_form(form, [LOCAL, GPU])
    assert len(checked.launches) == 4
    assert any("OPENAI_API_KEY" in each for each in checked.warnings["model"])


def test_a_model_names_its_variables_and_where_each_is_given() -> None:
    form = SMOKE.typed("model", "openai-api/acme/x").typed("secrets", "ACME_API_KEY = team")
    key, url = model_variables(check_form(form, [LOCAL]).table)
    assert (key.variable.name, key.given, key.secret) == ("ACME_API_KEY", "secrets", "team")
    assert (url.variable.name, url.given) == ("ACME_BASE_URL", None)
    typed = form.typed("env", "ACME_BASE_URL = http://h/v1")
    assert model_variables(check_form(typed, [LOCAL]).table)[1].given == "env"
    assert model_variables(check_form(form.typed("base_url", "http://h/v1"), [LOCAL]).table)[
        1
    ].given


def test_a_draft_comes_back_without_what_may_be_a_secret() -> None:
    form = SMOKE.typed("env", 'API_KEY = "sk-CANARY-0123456789"').typed("limit", "few")
    draft = draft_of(form, withheld_keys(form, check_form(form, [LOCAL])))
    assert "CANARY" not in json.dumps(draft)
    back = form_of_draft(json.loads(json.dumps(draft)))
    assert back == Form(
        source="smoke", template="smoke",
        texts={k: v for k, v in form.texts.items() if k != "env"},
    )  # fmt: skip


@pytest.mark.parametrize("kept", [None, 3, [], {}, {"source": 1}, {"source": "a", "template": []}])
def test_a_file_that_is_not_a_draft_is_ignored(kept: object) -> None:
    assert form_of_draft(kept) is None


def test_a_draft_of_odd_content_is_read_as_far_as_it_can_be() -> None:
    kept = {"source": "a", "template": "b", "texts": {"task": 1, "model": "x"}, "former": [1]}
    assert form_of_draft(kept) == Form(source="a", template="b", texts={"model": "x"})
