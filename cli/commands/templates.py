"""`evalroom templates [NAME]`."""

import sys
from typing import Any

from cli.output import writing_output
from cli.parser.command import GlobalOptions
from cli.parser.launch import TemplatesCommand
from cli.render.plain import print_json, print_lines
from core.launch.spec.templates import Template, template_named, templates
from core.text import shown_lines
from storage.paths import paths

_LIMIT = 1 << 20


def show_templates(command: TemplatesCommand, options: GlobalOptions) -> int:
    """Run `evalroom templates`: list the spec templates, or print one as TOML.

    Returns:
        The exit status.

    Raises:
        SpecWrong: No template has that name.
    """
    del options
    name, as_json = command.name, command.as_json
    folder = paths().config_file.parent / "templates"
    known = templates(folder)
    if name is not None:
        one = template_named(name, known)
        if as_json:
            print_json({"template": _json(one, text=True)})
        elif sys.stdout.isatty():
            print_lines(shown_lines(one.text, _LIMIT).splitlines())
        else:
            with writing_output():
                sys.stdout.write(one.text)
                sys.stdout.flush()
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
            "evalroom templates NAME > my.toml; fill in the blanks; evalroom launch my.toml",
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
