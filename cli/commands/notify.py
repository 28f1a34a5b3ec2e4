"""`evalroom notify test`: a test message to each address."""

from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.notify import NotifyCommand
from cli.render.fleet_json import Json
from cli.render.plain import error_json, print_error, print_json, print_lines
from cli.wiring.config import config_of
from cli.wiring.notifications import AppriseSender
from core.config.notify import NotifyRule
from core.errors import ConfigWrong, EvalroomError
from core.notify.message import Message
from storage.paths import paths
from storage.secrets import Secrets

TEST = Message("evalroom: a test", "evalroom notify test sent this. Findings come the same way.")


def notify(command: NotifyCommand, options: GlobalOptions) -> int:
    """Run `evalroom notify test`; return the exit status: 1 if one message was not sent.

    Raises:
        ConfigWrong: The config has no `[[notify]]` table.
    """
    rules = config_of(options).notify
    if not rules:
        raise ConfigWrong(
            "the config has no [[notify]] table", "add one: config.example.toml shows how"
        )
    return run_loop(_test(rules, as_json=command.as_json))


async def _test(rules: tuple[NotifyRule, ...], *, as_json: bool) -> int:
    sender = AppriseSender(Secrets(paths().secrets))
    told: list[Json] = []
    status = 0
    for secret in dict.fromkeys(rule.secret for rule in rules):
        try:
            await sender.send(secret, TEST)
        except EvalroomError as error:
            status = 1
            told.append({"to": secret, "sent": False, "error": error_json(error)})
            if not as_json:
                print_error(error, as_json=False)
        else:
            told.append({"to": secret, "sent": True, "error": None})
            if not as_json:
                print_lines([f"sent to {secret}"])
    if as_json:
        print_json({"messages": told})
    return status
