"""Every test can fail: no assertion that always holds, and no test that asserts nothing."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef
CAN_FAIL = frozenset({"does_not_raise", "fail", "raises", "warns"})
"""Names that a test may call in place of an assertion."""


def always_holds(test: ast.expr) -> str:
    """Why an assertion of this can't fail; empty where it can."""
    match test:
        case ast.BoolOp(op=op, values=values):
            is_or = isinstance(op, ast.Or)
            if is_or and any(isinstance(each, ast.Constant) and each.value for each in values):
                return "`or` with a true constant is true"
            return next((why for each in values if (why := always_holds(each))), "")
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compares_nothing(left, op, right)
        case ast.ListComp(generators=loops) | ast.SetComp(generators=loops):
            has_condition = any(each.ifs for each in loops)
            return "" if has_condition else "answers are true: all() or any() is missing"
        case _:
            return "it is true by its form" if _is_true(test) else ""


def _is_true(test: ast.expr) -> bool:
    match test:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(keys=parts):
            return bool(parts)
        case ast.Constant(value=value):
            return bool(value)
        case _:
            always = ast.Set | ast.JoinedStr | ast.Lambda | ast.GeneratorExp | ast.DictComp
            return isinstance(test, always)


def _compares_nothing(left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
    if isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE) and ast.dump(left) == ast.dump(right):
        return "a thing is compared with itself"
    match left, op, right:
        case ast.Call(func=ast.Name(id="len")), ast.GtE(), ast.Constant(value=0):
            return "a length is 0 or more"
        case _:
            return ""


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


@cache
def trees() -> dict[str, ast.Module]:
    """The parsed files of tests, by their paths below `tests`."""
    return {
        str(file.relative_to(TESTS)): ast.parse(file.read_text())
        for file in sorted(TESTS.rglob("*.py"))
    }


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function of a file, those within others too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def fails(function: Function, known: frozenset[str] | set[str]) -> bool:
    """Whether a function asserts, raises, or calls one that does."""
    return any(
        isinstance(node, ast.Assert | ast.Raise)
        or (isinstance(node, ast.Call) and _name(node) in known)
        for node in ast.walk(function)
    )


@cache
def helpers_that_fail() -> frozenset[str]:
    """The names of all functions of the tests that assert or raise, by themselves or by others."""
    every = [each for tree in trees().values() for each in functions(tree)]
    known = set(CAN_FAIL)
    while True:
        more = {each.name for each in every if each.name not in known and fails(each, known)}
        if not more:
            return frozenset(known)
        known |= more


def loops_alone(test: Function) -> list[str]:
    """The collections in loops over which all assertions of a test stand; each may be empty."""
    inside: set[ast.Assert] = set()
    over: list[str] = []
    for loop in ast.walk(test):
        if isinstance(loop, ast.For | ast.AsyncFor):
            found = {n for part in loop.body for n in ast.walk(part) if isinstance(n, ast.Assert)}
            if found and not _has_elements(loop.iter):
                over.append(ast.unparse(loop.iter))
                inside |= found
    every = {node for node in ast.walk(test) if isinstance(node, ast.Assert)}
    calls = any(isinstance(n, ast.Call) and _name(n) in helpers_that_fail() for n in ast.walk(test))
    return over if every and every <= inside and not calls else []


def _has_elements(collection: ast.expr) -> bool:
    """Whether a collection is written out, or is a constant of its module."""
    match collection:
        case ast.Tuple(elts=[_, *_]) | ast.List(elts=[_, *_]) | ast.Set() | ast.Dict(keys=[_, *_]):
            return True
        case ast.Name(id=name):
            return name.isupper()
        case ast.Call(args=[first, *_]):
            counted = {"enumerate", "range", "walk"}  # a tree has at least its root
            return _name(collection) in counted and not isinstance(first, ast.Call)
        case _:
            return False


def test_no_assertion_always_holds() -> None:
    wrong = [
        f"{name}:{node.lineno}: {why}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert) and (why := always_holds(node.test))
    ]
    assert wrong == []


def test_every_test_can_fail() -> None:
    wrong = [
        f"{name}:{test.lineno}: {test.name} asserts nothing"
        for name, tree in trees().items()
        for test in functions(tree)
        if test.name.startswith("test_") and not fails(test, helpers_that_fail())
    ]
    assert wrong == []


def test_no_test_asserts_only_in_a_loop_over_what_may_be_empty() -> None:
    wrong = [
        f"{name}:{test.lineno}: {test.name} asserts nothing where {', '.join(over)} is empty"
        for name, tree in trees().items()
        for test in functions(tree)
        if test.name.startswith("test_") and (over := loops_alone(test))
    ]
    assert wrong == []


def test_waiting_is_done_by_its_helpers_alone() -> None:
    """A loop of one's own around a clock forgets the deadline, the last look or the message."""
    wrong = [
        f"{name}:{loop.lineno}: use tests.support.waiting"
        for name, tree in trees().items()
        if not name.startswith(("bench/", "evals/", "sim/")) and name not in OWN_LOOPS
        for loop in ast.walk(tree)
        if isinstance(loop, ast.While) and _has_deadline(loop)
    ]
    assert wrong == []


def test_no_test_leaves_a_loop_open() -> None:
    """Inspect replaces `asyncio.run`; the loop that it leaves open fails some later test."""
    wrong = [
        f"{name}:{call.lineno}: use tests.support.coroutines"
        for name, tree in trees().items()
        if "/test_" in name
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "asyncio.run"
    ]
    assert wrong == []


def _has_deadline(loop: ast.While) -> bool:
    within = [node.test for node in ast.walk(loop) if isinstance(node, ast.If | ast.Assert)]
    return any("monotonic()" in ast.unparse(each) for each in (loop.test, *within))


OWN_LOOPS = frozenset({
    "support/processes.py",  # it looks at /proc for the helpers
    "support/idle.py",  # it is one for Textual's loop
    "support/terminal.py",  # it reads a pty while it waits
    "support/waiting.py",
})  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "assert [x > 0 for x in y]", "assert (x > 0 for x in y)", "assert (x, 'message')",
        "assert x or True", "assert x and [y]", "assert x == x", "assert len(x) >= 0",
        "assert lambda: x", "assert f'{x}'", "assert 'text'", "assert {1: 2}",
    ],
)  # fmt: skip
def test_an_assertion_that_always_holds_is_found(line: str) -> None:
    [node] = ast.parse(line).body
    assert isinstance(node, ast.Assert)
    assert always_holds(node.test)


@pytest.mark.parametrize(
    "line",
    ["assert x", "assert [x for x in y if x]", "assert not [x for x in y]", "assert x == [1]",
     "assert all(x for x in y)", "assert x in (1, 2)", "assert len(x) >= 1", "assert x or y"],
)  # fmt: skip
def test_an_assertion_that_may_fail_is_left_alone(line: str) -> None:
    [node] = ast.parse(line).body
    assert isinstance(node, ast.Assert)
    assert not always_holds(node.test)
