"""Every error of evalroom, on one page.

EvalroomError                 what happened, where, what to do next
├── ConfigWrong               the config file, with its line
├── SpecWrong                 a launch spec, with its field (and line)
│   └── OnErrorMissing        what happens on an error is asked for, never assumed
├── SecretMissing             a secret that is needed is not kept here
├── UsageWrong                a command's words are off (exit 2)
│   ├── NothingToDo           an action finds nothing that it is for (exit 0: it is so already)
│   └── TargetUnclear         a TARGET that fits none, or several
├── NotConfirmed               an action that asks for a yes, or for words (exit 4)
├── NobodyReached             no machine answered, so nothing is known (exit 3)
├── MachineError              about one machine
│   ├── LinkLost              it was up and broke, or never came up: may be retried
│   ├── NeedsTrust            an unknown host key: the operator decides
│   ├── NeedsYou              authentication: the operator acts
│   ├── LinkRefused           a changed host key, no usable shell, no python: not retried
│   └── ProbeBroken           what came from the probe is no frame
├── BrokenFrame               bytes that are no frame
├── RequestFailed             one request that the probe or the eval did not answer well
│   ├── NotThere              the process, task or sample is gone
│   ├── TooLarge              an answer over 32 MiB: narrow it
│   ├── TooBusy               more requests than may be out at once
│   ├── Unsupported           that Inspect has no such route
│   └── JobFailed             a job of a launch that a machine can't do, in its own words
├── AnswerMalformed           an answer that is no envelope: an error on that row only
└── StorageError              the disk, the database
"""

from typing import cast

from core.ids import MachineName
from core.text import shown

_COMMANDS = frozenset(
    {"chmod", "docker", "evalroom", "inspect", "pip", "python", "python3", "ssh", "tmux", "uv"}
)
"""Programs that an advice may begin with; their names keep their small letters."""


def sentences(message: str, advice: str | None) -> str:
    """Join what happened and what to do into two sentences: "It is full. Make room".

    The advice begins with a capital, unless it begins with a command, an option or `name = value`.
    It gets no full stop, so that a command at its end can be copied.

    Args:
        message: What happened, with or without its full stop.
        advice: What to do next; empty or None leaves the message as it is.
    """
    if not advice:
        return message
    stop = "" if message.endswith((".", "!", "?", ":")) else "."
    first, _, rest = advice.partition(" ")
    word = first.rstrip(":;,")
    is_word = len(word) > 1 and word.isalpha() and word not in _COMMANDS and rest[:1] != "="
    advice = advice[0].upper() + advice[1:] if is_word else advice
    return f"{message}{stop} {advice}"


def first_error(error: BaseException) -> BaseException:
    """Return the first error inside groups of errors, at any depth; another error itself."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error


class EvalroomError(Exception):
    """Something that an operator can act on.

    Attributes:
        message: What happened and where, one sentence, harmless to show.
        advice: What to do next, one sentence; empty where there is nothing to do.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    @property
    def sentence(self) -> str:
        """The message and the advice as text that can be shown after any other."""
        return sentences(self.message, self.advice)

    @property
    def kind(self) -> str:
        """The error's name in JSON: the class name in lower case with underscores."""
        name = type(self).__name__
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class ConfigWrong(EvalroomError):
    """A key or value of the config is wrong: on which line, and what is allowed."""


class SpecWrong(EvalroomError):
    """A field of a launch spec is wrong: which, its value, and what is allowed."""


class OnErrorMissing(SpecWrong):
    """A spec does not say what happens when a sample fails."""


class SecretMissing(EvalroomError):
    """No value is kept for a secret.

    Attributes:
        names: Which.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        listed = ", ".join(shown(name) for name in names)
        super().__init__(
            f"no secret is kept here as {listed}",
            f"enter it: evalroom secrets set {shown(names[0])}" if names else "",
        )
        self.names = names


class UsageWrong(EvalroomError):
    """The words of a command are off (exit status 2)."""


class NothingToDo(UsageWrong):
    """What an action is for is not there now: no errored sample to requeue."""


class TargetUnclear(UsageWrong):
    """A TARGET fits nothing, or several things (the message lists them)."""


class NobodyReached(EvalroomError):
    """No machine could be reached (exit status 3)."""


class NotConfirmed(EvalroomError):
    """An action asks for more than was given; nothing was sent (exit status 4)."""


class MachineError(EvalroomError):
    """Something about one machine.

    Attributes:
        machine: Which.
    """

    def __init__(self, machine: MachineName, message: str, advice: str = "") -> None:
        super().__init__(message, advice)
        self.machine = machine


class LinkLost(MachineError):
    """The connection broke or could not be made; it is tried again."""


class NeedsTrust(MachineError):
    """The host key is unknown.

    Attributes:
        fingerprint: Of the key in that very handshake, `SHA256:...`.
        known_hosts_line: What is written when the operator accepts it.
    """

    def __init__(self, machine: MachineName, fingerprint: str, known_hosts_line: str) -> None:
        super().__init__(
            machine,
            f"the host key of {machine} is unknown ({fingerprint})",
            "compare it with the machine's own fingerprint, then press T in the room to accept it",
        )
        self.fingerprint = fingerprint
        self.known_hosts_line = known_hosts_line


class NeedsYou(MachineError):
    """Authentication did not succeed by itself; it is never retried by itself."""


class LinkRefused(MachineError):
    """The machine can't be used as it is; it is tried again only when asked."""


class ProbeBroken(MachineError):
    """The probe did not start, or sent what is no frame."""


class BrokenFrame(EvalroomError):
    """Bytes that are no frame; the session ends."""


class RequestFailed(EvalroomError):
    """One request was not answered well.

    Attributes:
        status: The HTTP status, None where there was none.
    """

    def __init__(self, message: str, advice: str = "", *, status: int | None = None) -> None:
        super().__init__(message, advice)
        self.status = status


class NotThere(RequestFailed):
    """The process, task or sample is gone (404 with an error of Inspect's own)."""


class TooLarge(RequestFailed):
    """The answer is larger than 32 MiB: narrow the request."""


class TooBusy(RequestFailed):
    """Too many requests are out already."""


class Unsupported(RequestFailed):
    """This Inspect has no such route: it is older than the feature.

    Attributes:
        since: The first Inspect that has it; None where nobody knows.
    """

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        status: int | None = None,
        since: str | None = None,
    ) -> None:
        super().__init__(message, advice, status=status)
        self.since = since


class JobFailed(RequestFailed):
    """A machine can't do a job of a launch, and says why; nothing is unknown."""


class AnswerMalformed(EvalroomError):
    """An answer, or one row of it, is not what it should be."""


class StorageError(EvalroomError):
    """The disk or the database failed."""
