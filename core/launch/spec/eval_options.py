"""The options of `inspect eval-set` (0.3.285): which take a value, and which a spec may name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

OptionKind = Literal["value", "flag", "pair", "optional", "many"]
"""What an option takes: a value; nothing; nothing, with a `--no-` twin; perhaps a value; a value
each time, any number of times."""

_VALUES = """
retry-wait retry-connections incomplete-action incomplete-max bundle-dir id solver solver-config
scanner scans scan-name scan-tags scan-model scan-model-base-url scan-model-config
scan-generate-config approval review sentinel sandbox epochs-reducer
adaptive-connections max-retries timeout attempt-timeout stream-idle-timeout max-dataset-memory
model-cost-config log-buffer generate-config max-tokens system-message best-of frequency-penalty
presence-penalty logit-bias seed stop-seqs temperature top-p top-k num-choices top-logprobs
prompt-logprobs max-tool-output cache-prompt fallback-models verbosity effort reasoning-effort
reasoning-mode reasoning-tokens reasoning-summary reasoning-history response-schema
extra-headers extra-body modalities log-format log-level-transcript log-level
"""
_FLAGS = """
no-retry-cleanup bundle-overwrite embed-viewer log-dir-allow-dirty no-sandbox-cleanup
sandbox-prebuilt no-epochs-reducer score-on-error no-log-samples no-log-realtime no-score
no-score-display logprobs traceback-locals
"""
_PAIRS = """
retry-immediate log-images log-model-api log-refusals parallel-tool-calls internal-tools
fail-on-refusal
"""
_OPTIONAL = "checkpoint sample-shuffle log-shared cache batch notification"
_MANY = "scanner-arg scan-metadata scan-filter scan-model-arg scan-model-role sentinel-arg"


def _kinds() -> dict[str, OptionKind]:
    kinds: dict[str, OptionKind] = {}
    listed: tuple[tuple[OptionKind, str], ...] = (
        ("value", _VALUES),
        ("flag", _FLAGS),
        ("pair", _PAIRS),
        ("optional", _OPTIONAL),
        ("many", _MANY),
    )
    for kind, names in listed:
        kinds.update(dict.fromkeys(names.split(), kind))
    kinds["S"] = "many"
    return kinds


KINDS: Mapping[str, OptionKind] = MappingProxyType(_kinds())
"""Every option that `options` of a spec may hold, by its name without dashes before it."""

OWN_KEYS: Mapping[str, str] = MappingProxyType(
    {
        **{
            name: f'write the key "{name.replace("-", "_")}"'
            for name in (
                "limit", "epochs", "message-limit", "token-limit", "time-limit", "working-limit",
                "turn-limit", "cost-limit", "max-samples", "max-tasks", "max-connections",
                "max-sandboxes", "max-subprocesses", "retry-attempts", "retry-on-error", "log-dir",
                "tags", "metadata", "model", "env", "display",
            )
        },
        "sample-id": 'write the key "sample_ids"',
        "fail-on-error": 'write the key "on_error"',
        "no-fail-on-error": 'write the key "on_error"',
        "continue-on-fail": 'write the key "on_error"',
        "T": 'write the key "args"',
        "task-config": 'write the key "args"',
        "M": 'write the key "model_args"',
        "model-config": 'write the key "model_args"',
        "model-spec": 'write the keys "model" and "model_args"',
        "model-base-url": 'write the key "base_url"',
        "model-role": 'write the key "model_roles"',
        "run-config": "write its content as keys of the spec",
        "ctl-server": 'write the key "keep"; without the server nothing could be watched',
        "acp-server": 'write the key "acp"',
        "json": "evalroom sets it",
        "detach": 'write the key "engine"',
        "no-detach": 'write the key "engine"',
        "no-ansi": 'write the key "display"',
        "trace": 'write the key "display"',
        "debug": "a run that waits for a debugger never starts",
        "debug-port": "a run that waits for a debugger never starts",
        "debug-errors": "a task's errors belong in its log",
        "help": "see inspect eval-set --help",
    }
)  # fmt: skip
"""Options that `options` may not hold, and what to do instead."""


def option_name(key: str) -> str:
    """Return an option's name as Inspect spells it: `max_tokens` and `--max-tokens` alike."""
    bare = key.lstrip("-")
    return bare if len(bare) == 1 else bare.replace("_", "-")


def option_kind(name: str) -> tuple[str, OptionKind] | None:
    """Return the option that `name` means and what it takes; None: 0.3.285 has none such.

    Args:
        name: As `option_name` returns it; a pair's `no-` twin is the pair's.
    """
    if name in KINDS:
        return name, KINDS[name]
    bare = name.removeprefix("no-")
    return (bare, "pair") if KINDS.get(bare) == "pair" else None
