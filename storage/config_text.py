"""Writes a config as TOML text, with the value of every key."""

from dataclasses import asdict
from typing import Any

import tomli_w

from core.config.judge import JudgeConfig
from core.config.model import Config, MachineConfig
from core.config.notify import NotifyRule
from core.judge.kinds import all_rules

_HOUR_S = 3_600.0


def config_text(config: Config) -> str:
    """Return TOML that reads back as the same config. A key without a value has no line."""
    watch = config.watch
    cadences = {
        phase.replace(" ", "-"): {"tasks": each.tasks, "samples": each.samples}
        for phase, each in watch.cadences.items()
    }
    return tomli_w.dumps(
        {
            "read_only": config.read_only,
            "machines": [_machine(machine) for machine in config.machines],
            "watch": {
                "facts_every": watch.facts_every,
                "discover_every": watch.discover_every,
                "keep_gone_hours": watch.keep_gone / _HOUR_S,
                "cadences": cadences,
            },
            "logs": {"schemes": list(watch.log_schemes)},
            "screen": asdict(config.screen),
            "storage": asdict(config.storage),
            "judge": _judge(config.judge),
            "notify": [_notify(rule) for rule in config.notify],
            "budgets": dict(config.judge.budgets),
            "prices": {
                model: {"in": each.into, "out": each.out}
                for model, each in config.judge.prices.items()
            },
            "keys": dict(config.keys),
        }
    )


def _judge(judge: JudgeConfig) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for rule in all_rules():
        *above, last = rule.path.split(".")
        table = tables
        for name in above:
            table = table.setdefault(name, {})
        table[last] = judge.number(rule)
    return tables


def _notify(rule: NotifyRule) -> dict[str, Any]:
    values = {key: value for key, value in asdict(rule).items() if key not in {"secret", "quiet"}}
    for key in ("kinds", "machines", "tags"):
        values[key] = list(values[key])
    if rule.quiet is not None:
        values["quiet"] = f"{_time(rule.quiet.begin)}-{_time(rule.quiet.end)}"
    return {"to": rule.secret, **values}


def _time(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _machine(machine: MachineConfig) -> dict[str, Any]:
    values = {key: value for key, value in asdict(machine).items() if value is not None}
    values |= {"command": list(machine.command), "tags": list(machine.tags)}
    if machine.link != "command":
        del values["command"]
    return values
