"""Joins a program's files in `ssh/shipped` into one readable text, and strips it to be sent.

The text is the package's docstring, the imports of the standard library, and the files in the
order in which they need each other, each under a comment with its name and its docstring. Imports
of our own files are left out, so no name may be defined in two files of one program. Where a
program starts another one with another interpreter, it contains that program's text as a string.

A program may have a file `second_part.py`. It and the files that it alone needs stand before
`main.py`. They may be sent after the first part, which runs them with its own names.

What is sent lacks comments and docstrings, and has the same lines: a traceback from a machine names
the lines of the readable text.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from importlib.resources.abc import Traversable

_OWN = "ssh.shipped."
_EMBEDDED = re.compile(r'embedded_program\("(?P<name>\w+)"\)')
"""The text of another program (`ssh/shipped/common/embedded.py`)."""
_HEAD = re.compile(
    r'"""(?P<docstring>.*?)"""\n'
    r"(?P<imports>(?:\n|import [^\n]+\n|from \S+ import (?:[^(\n]+|\([^)]*\))\n)*)",
    re.DOTALL,
)
"""The head of a file. For the probe, parsing the heads takes 2 ms, parsing whole files 50 ms."""
_LEXEMES = re.compile(
    r"""(?P<string>\'{3}(?:[^\\]|\\.)*?\'{3}|"{3}(?:[^\\]|\\.)*?"{3}"""
    r"""|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<comment>[ \t]*\#[^\n]*)|(?P<opens>[(\[{])|(?P<closes>[)\]}])""",
    re.DOTALL,
)
"""Finds strings and comments. `tokenize` takes 0.3 s for the probe, this 20 ms."""
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")


@cache
def shipped_program(name: str) -> bytes:
    """Return the readable text of the program in `ssh/shipped/NAME`, the same bytes each time.

    Raises:
        FileNotFoundError: No such program.
    """
    return _text(_joined(name, shipped_program)).encode()


@cache
def sent_program(name: str) -> bytes:
    """Return a program as it is sent: `shipped_program` without comments and docstrings.

    Each statement stays on its line.

    Raises:
        FileNotFoundError: No such program.
    """
    return without_comments(_text(_joined(name, sent_program))).encode()


@cache
def sent_parts(name: str) -> tuple[bytes, bytes]:
    """Return the first and the second part of `sent_program`; the second may be empty.

    A part has an empty line in place of each line of the other one.

    Raises:
        FileNotFoundError: No such program.
    """
    lines = iter(sent_program(name).decode().split("\n"))
    first, second = list[str](), list[str]()
    for block in _joined(name, sent_program):
        for _, line in zip(block.text.split("\n"), lines, strict=False):
            first.append("" if block.is_second else line)
            second.append(line if block.is_second else "")
    return _encoded(first), _encoded(second)


def _encoded(lines: list[str]) -> bytes:
    return "\n".join(lines).rstrip("\n").encode()


def without_comments(text: str) -> str:
    """Return Python source without its comments and docstrings, with the same lines.

    A block keeps a `0` in place of its docstring, which may be all that it holds.
    """
    parts: list[str] = []
    end, depth, last = 0, 0, ""
    for found in _LEXEMES.finditer(text):
        depth += (found["opens"] is not None) - (found["closes"] is not None)
        is_docstring = found["string"] is not None and not depth and _is_statement(text, found)
        if not is_docstring and found["comment"] is None:
            continue
        before = text[end : found.start()]
        last = before.rstrip()[-1:] or last
        if is_docstring and last == ":":
            before, last = f"{before}0", "0"
        elif is_docstring:
            before = before.rstrip(" ")
        parts += before, "\n" * found[0].count("\n")
        end = found.end()
    return "".join([*parts, text[end:]])


def _is_statement(text: str, string: re.Match[str]) -> bool:
    """Return whether a string outside of brackets is all of its statement."""
    line = text.rfind("\n", 0, string.start()) + 1
    is_alone = not text[line : string.start()].strip() and _LINE_END.match(text, string.end())
    return bool(is_alone) and not text.endswith("\\\n", 0, line)


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines of a program, and whether they belong to its second part."""

    text: str
    is_second: bool = False


def _text(blocks: list[_Block]) -> str:
    return "\n".join(block.text for block in blocks)


def _joined(name: str, embedded: Callable[[str], bytes]) -> list[_Block]:
    """Return a program's text in blocks; `embedded` gives the text of a program that it starts."""
    imports, files = set[str](), dict[str, str]()
    _add(f"{name}.main", imports, files, embedded)
    *before, main = files.values()
    first = [_read(f"{name}.__init__"), *sorted(imports), *before]
    return [
        *map(_Block, first),
        *(_Block(text, is_second=True) for text in _second(name, imports, files, embedded)),
        *map(_Block, (main, "")),
    ]


def _second(
    name: str, imports: set[str], files: dict[str, str], embedded: Callable[[str], bytes]
) -> list[str]:
    """Return the texts of the second part: what `imports` and `files` of the first one lack."""
    if not _path(f"{name}.second_part").is_file():
        return []
    all_imports, all_files = set(imports), dict(files)
    _add(f"{name}.second_part", all_imports, all_files, embedded)
    texts = [text for module, text in all_files.items() if module not in files]
    return ["\n\n# -- The second part of this program\n", *sorted(all_imports - imports), *texts]


def _add(
    module: str, imports: set[str], files: dict[str, str], embedded: Callable[[str], bytes]
) -> None:
    """Add a file to `files`, those that it imports first, and its other imports to `imports`."""
    if module in files or module == "common.embedded":
        return
    text = _read(module)
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"ssh/shipped: {module} does not begin with a docstring")
    for node in ast.parse(head["imports"]).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_OWN):
            _add((node.module or "").removeprefix(_OWN), imports, files, embedded)
        else:
            imports.add(ast.unparse(node))
    title = f"-- {module.replace('.', '/')}.py: {head['docstring'].strip()}"
    comment = "\n".join(f"# {line}".rstrip() for line in title.splitlines())
    body = _EMBEDDED.sub(partial(_as_string, embedded), text[head.end() :])
    files[module] = f"\n\n{comment}\n\n{body}".rstrip()


def _as_string(embedded: Callable[[str], bytes], call: re.Match[str]) -> str:
    text = embedded(call["name"]).decode()
    if "'''" in text:
        raise ValueError(f"ssh/shipped/{call['name']}: its text can't stand in another program")
    return f"r'''{text}'''"


def _read(module: str) -> str:
    return _path(module).read_text(encoding="utf-8")


def _path(module: str) -> Traversable:
    *folders, name = module.split(".")
    return resources.files("ssh").joinpath("shipped", *folders, f"{name}.py")
