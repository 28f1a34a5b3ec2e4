"""`evalroom templates [NAME]`."""

import sys
from pathlib import Path
from typing import Any

from cli.render.plain import print_json, print_lines
from core.launch.spec.templates import Template, template_named, templates
from core.text import shown_lines

_LIMIT = 1 << 20


def show_templates(folder: Path, name: str | None, *, as_json: bool) -> int:
    """List the specs to begin with, or print one as TOML; return the exit status.

    Args:
        folder: The operator's own.
        name: Which is printed; None: they are listed.
        as_json: Whether to print JSON.

    Raises:
        SpecWrong: There is none of that name.
    """
    known = templates(folder)
    if name is not None:
        one = template_named(name, known)
        if as_json:
            print_json({"template": _json(one, text=True)})
        elif sys.stdout.isatty():
            print_lines(shown_lines(one.text, _LIMIT).splitlines())
        else:
            sys.stdout.write(one.text)
        return 0
    if as_json:
        print_json(
            {"templates": [_json(each, text=False) for each in known], "folder": str(folder)}
        )
        return 0
    width = max(len(each.name) for each in known)
    print_lines(
        [
            *(f"{each.name:<{width}}  {each.title}{_own(each)}" for each in known),
            "",
            "evalroom templates NAME > my.toml; fill in what is blank; evalroom launch my.toml",
        ]
    )
    return 0


def _own(template: Template) -> str:
    return "  (yours)" if template.path else ""


def _json(template: Template, *, text: bool) -> dict[str, Any]:
    return {
        "name": template.name,
        "title": template.title,
        "fill_in": list(template.blanks),
        "path": template.path,
        **({"text": template.text} if text else {}),
    }
