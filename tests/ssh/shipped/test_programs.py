"""The programs as they are sent: all of their files and nothing else, on the oldest Python."""

import ast
import json
import os
import re
import subprocess
import sys
import tokenize
from io import StringIO
from pathlib import Path

import pytest

from ssh.handshake import compressed
from ssh.shipped.gpu_holder.main import EXIT_NO_GPUS
from ssh.shipped_program import sent_parts, sent_program, shipped_program, without_comments
from tests.support.direct_probe import direct_probe
from tests.support.programs import program_file
from tests.support.pythons import pythons
from tests.support.shipped_answers import answers_in
from tests.support.tree import ROOT
from tests.support.waiting import WAIT_S

SHIPPED = ROOT / "ssh" / "shipped"
PROGRAMS = sorted(path.parent.name for path in SHIPPED.glob("*/main.py"))
OLDEST = next(iter(pythons().values()), sys.executable)


_EMBEDDED = re.compile(r'embedded_program\("(\w+)"\)')
"""Where a program has another one's text."""


def _text_of(call: re.Match[str]) -> str:
    return repr(shipped_program(call[1]).decode())


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _imported(path: Path, seen: dict[Path, None]) -> None:
    """Add a file of ours to `seen`, those that it imports first."""
    if path in seen or path == SHIPPED / "common" / "embedded.py":
        return
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ssh.shipped."):
            _imported(ROOT / f"{(node.module or '').replace('.', '/')}.py", seen)
    seen[path] = None


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_its_files_and_nothing_else(name: str) -> None:
    files: dict[Path, None] = {}
    _imported(SHIPPED / name / "main.py", files)
    main, second_part = files.popitem(), SHIPPED / name / "second_part.py"
    if second_part.exists():
        _imported(second_part, files)
    files.update([main])
    expected = [
        ast.unparse(node)
        for path in files
        for node in ast.parse(_EMBEDDED.sub(_text_of, path.read_text())).body[1:]
        if not _is_import(node)
    ]
    joined = ast.parse(shipped_program(name)).body[1:]
    assert [ast.unparse(node) for node in joined if not _is_import(node)] == expected
    own = set((SHIPPED / name).glob("*.py")) - {SHIPPED / name / "__init__.py"}
    assert own <= set(files), "every file of the folder is sent"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_begins_with_its_docstring_and_names_its_files(name: str) -> None:
    text = shipped_program(name).decode()
    assert text.startswith((SHIPPED / name / "__init__.py").read_text())
    assert f"\n# -- {name}/main.py: " in text
    assert text.splitlines()[-2] == 'if __name__ == "__main__":'


class _WithoutDocstrings(ast.NodeTransformer):
    """Leaves out strings and numbers that are statements, also in the text of another program."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        is_program = isinstance(node.value, str) and "\nif __name__ ==" in node.value
        return ast.Constant(_statements(str(node.value))) if is_program else node


def _statements(text: str) -> str:
    """Return a program's statements with their lines, without docstrings."""
    tree = _WithoutDocstrings().visit(ast.parse(text))
    lines = [
        (type(node).__name__, node.lineno) for node in ast.walk(tree) if isinstance(node, ast.stmt)
    ]
    return f"{ast.dump(tree)} {lines}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_sent_has_the_same_statements_on_the_same_lines(name: str) -> None:
    readable, sent = shipped_program(name).decode(), sent_program(name).decode()
    assert _statements(sent) == _statements(readable)
    assert len(sent.splitlines()) == len(readable.splitlines())
    tokens = tokenize.generate_tokens(StringIO(sent).readline)
    assert [token.string for token in tokens if token.type == tokenize.COMMENT] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_parts_have_the_statements_of_the_whole_on_the_same_lines(name: str) -> None:
    whole = ast.parse(sent_program(name)).body
    parts = [ast.parse(part).body for part in sent_parts(name)]
    lines = [(node.lineno, ast.unparse(node)) for part in parts for node in part]
    assert sorted(lines) == [(node.lineno, ast.unparse(node)) for node in whole]
    assert bool(parts[1]) == (SHIPPED / name / "second_part.py").exists()


def test_the_first_part_of_the_probe_names_nothing_of_the_second() -> None:
    words = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "-"]
    found = subprocess.run(
        words, input=sent_parts("probe")[0], capture_output=True, check=False, timeout=30
    )
    assert found.returncode == 0, found.stdout.decode()


MAX_SENT_BYTES = {
    "fetch": (11_500, 0),
    "gpu_holder": (10_500, 0),
    "launcher": (21_000, 0),
    "log_script": (8_200, 0),
    "probe": (24_400, 22_000),
    "survey": (18_000, 0),
}
"""What the parts of a program may cost a thin link: 64 kbit/s carry 8 kB in a second."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_sent_is_small(name: str) -> None:
    first, second = sent_parts(name)
    most, most_later = MAX_SENT_BYTES[name]
    for has_bz2, factor in ((True, 1.0), (False, 1.25)):
        assert len(compressed(first, has_bz2=has_bz2)) < factor * most
        later = len(compressed(second, has_bz2=has_bz2)) if second else 0
        assert later <= factor * most_later


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""Doc.\n\nMore."""\nx = 1  # one\n', "\n\n\nx = 1\n"),
        ('def f():\n    """Doc."""\n', "def f():\n    0\n"),
        ('def f():  # why\n    # how\n    "Doc."\n    x\n', "def f():\n\n    0\n    x\n"),
        ('X = 1\n"""What X is."""\n', "X = 1\n\n"),
        ('f(\n    "a # b"  # c\n    "d",\n)\n', 'f(\n    "a # b"\n    "d",\n)\n'),
        ("x = \\\n'a'\n", "x = \\\n'a'\n"),
        ("x = '\\'#'  # y\n", "x = '\\'#'\n"),
        ("x = b'''#\n'''  # y", "x = b'''#\n'''"),
        ('x = ""\ny = """\\"""a"""\n', 'x = ""\ny = """\\"""a"""\n'),
    ],
)
def test_comments_and_docstrings_go_and_all_else_stays(text: str, expected: str) -> None:
    assert without_comments(text) == expected


def test_the_same_bytes_come_each_time() -> None:
    print_all = (
        "import sys; from ssh.shipped_program import shipped_program\n"
        f"for name in {PROGRAMS}: sys.stdout.buffer.write(shipped_program(name))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", print_all], cwd=ROOT, capture_output=True, check=True, timeout=WAIT_S
    )
    assert ran.stdout == b"".join(shipped_program(name) for name in PROGRAMS)


def test_a_program_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        shipped_program("dance")


def test_the_probe_runs_on_the_oldest_python(tmp_path: Path) -> None:
    with direct_probe(tmp_path, python=OLDEST) as probe:
        assert json.loads(probe.first("facts").body)["cpus"]


CHECKOUT = {"directory": "~/run", "repository": "/nowhere", "seconds": 9}


@pytest.mark.parametrize(
    ("name", "verb", "given", "answers"),
    [
        ("survey", "survey", {"runs": ["/nowhere"]}, "machine"),
        ("launcher", "list", {"directory": "~"}, "runs"),
        ("fetch", "checkout", CHECKOUT, "advice"),
    ],
)
def test_a_job_runs_on_the_oldest_python(
    name: str, verb: str, given: dict[str, object], answers: str, tmp_path: Path
) -> None:
    asked = {"verb": verb, "given": given, "secrets": {}}
    child = subprocess.Popen(
        [OLDEST, "-I", str(program_file(name))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    with child, child.stdin:
        child.stdin.write(json.dumps(asked).encode() + b"\n")
        child.stdin.flush()
        answer = answers_in(child.stdout.read().decode())  # until it exits
    assert [answers in each for each in answer] == [True]
    assert child.returncode == 0


def test_the_gpu_holder_runs_on_the_oldest_python(tmp_path: Path) -> None:
    words = [OLDEST, "-I", str(program_file("gpu_holder")), "1", str(tmp_path / "locks"), "keep"]
    ran = subprocess.run(
        [*words, "20260101-000000-abcdefgh", "true"], cwd=tmp_path, env={"PATH": "/nowhere"},
        capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    assert ran.returncode == EXIT_NO_GPUS
    assert ran.stderr.startswith("evalroom: ")
