from pathlib import Path

import pytest

from core.errors import OnErrorMissing, SpecWrong
from core.launch.spec.spec_reader import check_spec
from core.launch.spec.templates import BUILT_IN_TEMPLATES, template_named, templates

FILLED = (
    'model="mockllm/model"', 'machine="local"', 'on_error="continue"',
    'code.repository="https://host/r"',
)  # fmt: skip


@pytest.mark.parametrize("template", BUILT_IN_TEMPLATES, ids=lambda each: each.name)
def test_a_template_is_a_spec_once_its_blanks_are_filled_in(template: object) -> None:
    from core.launch.spec.templates import Template

    assert isinstance(template, Template)
    assert "on_error" in template.blanks
    _, wrong = check_spec(template.text, template.name)
    assert {type(each) for each in wrong} >= {OnErrorMissing}
    filled = [each for each in FILLED if each.split("=")[0] in template.blanks]
    if "task" in template.blanks:
        filled.append('task="x/t.py@t"')
    spec, wrong = check_spec(template.text, template.name, sets=filled)
    assert spec is not None, [(each.message, each.advice) for each in wrong]


def test_the_operators_own_go_before_those_of_evalroom(tmp_path: Path) -> None:
    (tmp_path / "smoke.toml").write_text('# Mine.\ntask = ""\n')
    (tmp_path / "mine.toml").write_text("model = 'm/x'\n")
    (tmp_path / "not a name.toml").write_text("")
    (tmp_path / "broken.toml").write_bytes(b"\xff")
    known = templates(tmp_path)
    assert [each.name for each in known][-3:] == ["broken", "mine", "smoke"]
    mine = template_named("smoke", known)
    assert (mine.title, mine.blanks, mine.path) == (
        "Mine.",
        ("task",),
        str(tmp_path / "smoke.toml"),
    )
    assert "not UTF-8" in template_named("broken", known).title


def test_without_a_folder_there_are_those_of_evalroom(tmp_path: Path) -> None:
    assert templates(tmp_path / "none") == templates() == BUILT_IN_TEMPLATES
    with pytest.raises(SpecWrong, match='no template is called "x"'):
        template_named("x", templates())
