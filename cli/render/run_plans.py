"""The plans of runs as lines and as JSON."""

from typing import Any

from core.launch.plan.eval_set_args import on_error_words
from core.launch.plan.risks import author_warning
from core.launch.plan.run_plan import FILE_MODE, RunPlan
from core.launch.spec.spec_writer import spec_table
from core.quoting import plain_word
from core.text import shown, shown_lines
from core.views.tables.runs import log_folder

_LONGEST_SCRIPT = 200_000
_WHICH = (
    ", reserved when the run starts; CUDA_VISIBLE_DEVICES holds their indexes"
    " (CUDA_DEVICE_ORDER=PCI_BUS_ID)"
)


def run_plan_lines(plan: RunPlan) -> list[str]:
    """Return a plan as lines for people."""
    spec, request = plan.spec, plan.request
    choice = spec.on_error if isinstance(spec.on_error, str) else "tolerate"
    which = f" ({request.index} of {request.of})" if request.of > 1 else ""
    author = author_warning(spec)
    rows = [
        *([("warning", shown(author, 400))] if author else []),
        ("task", shown(request.task)),
        ("model", shown(request.model)),
        ("machine", _machine(plan)),
        ("on error", f"{choice} ({' '.join(on_error_words(spec))}): {plan.means}"),
        ("at worst", plan.worst.says),
        (
            "python",
            shown(plan.python) if plan.python else "uv installs Inspect and its dependencies",
        ),
        ("engine", spec.engine),
        *([("attach", _attach(plan))] if plan.attach else []),
        ("gpus", f"{spec.gpus}{_WHICH if spec.gpus else ''}"),
        *([("code", _code(plan))] if spec.code else []),
        ("folder", plan.directory),
        ("logs", shown(log_folder(plan.directory, plan.log_dir), 400)),
        *(("variable", f"{shown(k)}={shown(v)}") for k, v in plan.variables.items()),
        *(("secret", f"{shown(k)}{_named(k, v)}") for k, v in plan.secrets.items()),
        *([("", _secrets_from(plan))] if plan.secrets else []),
        *(("warning", shown(each, 400)) for each in plan.warnings),
        *(
            ("file", f"{shown(path)}  {len(content)} bytes, {FILE_MODE:04o}")
            for path, content in plan.files.items()
        ),
        ("command", shown(plan.command_line, _LONGEST_SCRIPT)),
        ("script", ""),
    ]
    return [
        f"run {plan.run}{which}",
        *(f"  {title:<9}{text}".rstrip() for title, text in rows),
        *(f"    {line}" for line in shown_lines(plan.script, _LONGEST_SCRIPT).splitlines()),
    ]


def _machine(plan: RunPlan) -> str:
    others = len(plan.request.candidates) - 1
    asked = shown(plan.request.asked)
    return (
        f"{asked}: one of {others + 1} machines; this is the plan for {plan.machine}"
        if others
        else plan.machine
    )


def _attach(plan: RunPlan) -> str:
    return shown(" ".join(plain_word(word) for word in plan.attach))


def _code(plan: RunPlan) -> str:
    code = plan.spec.code
    if code is None:
        return ""
    if code.repository is None:
        return shown(code.directory)
    token = f", with the secret {code.token}" if code.token else ""
    return f"{shown(code.repository)} at {shown(code.ref or 'its default branch')}{token}"


def _named(variable: str, secret: str) -> str:
    return "" if variable == secret else f" (the secret {shown(secret)})"


def _secrets_from(plan: RunPlan) -> str:
    if plan.secrets_from == "-":
        return "sent to the script's standard input; never in an argument or a file"
    return f"read from {plan.secrets_from}, which the script deletes after reading"


def run_plan_json(plan: RunPlan) -> dict[str, Any]:
    """Return a whole plan as a value for JSON, without the value of any secret."""
    return {
        "run_id": plan.run,
        "index": plan.request.index,
        "of": plan.request.of,
        "task": plan.request.task,
        "model": plan.request.model,
        "machine": plan.machine,
        "asked": plan.request.asked,
        "candidates": list(plan.request.candidates),
        "spec": spec_table(plan.spec),
        "engine": plan.spec.engine,
        "python": plan.python,
        "gpus": plan.spec.gpus,
        "directory": plan.directory,
        "log_dir": plan.log_dir,
        "on_error": {"flags": list(on_error_words(plan.spec)), "means": plan.means},
        "worst_case": {
            "attempts": plan.worst.attempts,
            "samples": plan.worst.samples,
            "says": plan.worst.says,
        },
        "environment": dict(plan.variables),
        "secrets": dict(plan.secrets),
        "secrets_from": plan.secrets_from,
        "attach": list(plan.attach),
        "author": plan.spec.author,
        "starts_with": plan.starts_with,
        "command": list(plan.command),
        "command_line": plan.command_line,
        "script": plan.script,
        "files": [
            {"path": path, "mode": f"{FILE_MODE:04o}", "text": content.decode()}
            for path, content in plan.files.items()
        ],
        "warnings": list(plan.warnings),
    }
