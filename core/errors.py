"""Every error of evalroom, on one page.

EvalroomError                 every error has a message (what happened, where) and an advice
├── ConfigWrong               a wrong line of the config file
├── SpecWrong                 a wrong field of a launch spec
│   └── OnErrorMissing        the spec does not say what happens when a sample errors
├── SecretMissing             a secret that a launch needs is not stored
├── UsageWrong                wrong arguments of a command (exit 2)
│   ├── NothingToDo           an action has nothing to act on (exit 0: already so)
│   └── TargetUnclear         a TARGET that fits nothing, or several things
│       └── TargetUnknown     a TARGET that fits nothing that is known
├── NotConfirmed              an action needs a yes or typed words (exit 4)
├── NoMachineReached          no machine answered, so nothing is known (exit 3)
├── MachineError              about one machine
│   ├── LinkLost              the connection broke, or could not be made: it is retried
│   ├── NeedsTrust            an unknown host key: the operator decides
│   ├── NeedsYou              authentication: the operator acts
│   ├── LinkRefused           no usable shell, no Python: retried only if the link was up before
│   │   └── HostKeyRefused    a changed or revoked host key: never retried by itself
│   └── ProbeBroken           the probe did not start, or sent something that is not a frame
├── BrokenFrame               bytes that are not a frame
├── RequestFailed             the probe or the eval did not answer one request well
│   ├── NotThere              the process, task or sample is gone
│   ├── TooLarge              an answer over 32 MiB: narrow the request
│   ├── TooBusy               too many requests are open
│   ├── Unsupported           this Inspect does not have the route
│   └── JobFailed             a machine can't do a job of a launch; the message is its own
├── AnswerMalformed           an answer, or one row of it, that does not have the expected form
└── StorageError              the disk or the database failed
"""

from typing import cast

from core.ids import MachineName
from core.text import shown

_COMMANDS = frozenset(
    {"chmod", "docker", "evalroom", "inspect", "pip", "python", "python3", "ssh", "tmux", "uv"}
)
"""Programs that an advice may begin with; their names are not capitalised."""


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
    """Return the first error inside groups, at any depth; a plain error is returned as it is."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error


class EvalroomError(Exception):
    """An error that an operator can act on.

    Attributes:
        message: What happened and where, one sentence, harmless to show.
        advice: What to do next, one sentence; empty if there is nothing to do.
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
    """A key or value of the config is wrong. The message names the line and the allowed values."""


class SpecWrong(EvalroomError):
    """A field of a launch spec is wrong. The message names it, its value, and allowed values."""


class OnErrorMissing(SpecWrong):
    """A spec does not say what happens when a sample errors."""


class SecretMissing(EvalroomError):
    """No value is stored for one or more secrets.

    Args:
        names: The names of these secrets.
        advice: What to do; None: store the first one.

    Attributes:
        names: The names of these secrets.
    """

    def __init__(self, names: tuple[str, ...], advice: str | None = None) -> None:
        listed = ", ".join(shown(name) for name in names)
        store = f"store it: evalroom secrets set {shown(names[0])}" if names else ""
        super().__init__(
            f"no value is stored for the secret {listed}", store if advice is None else advice
        )
        self.names = names


class UsageWrong(EvalroomError):
    """The arguments of a command are wrong (exit status 2)."""


class NothingToDo(UsageWrong):
    """An action has nothing to act on, for example no errored sample to requeue."""


class TargetUnclear(UsageWrong):
    """A TARGET fits nothing, or several things; the message lists them."""


class TargetUnknown(TargetUnclear):
    """A TARGET fits nothing that is known.

    Attributes:
        machine: The machine that it names; None: it may be on any.
    """

    def __init__(self, message: str, advice: str = "", *, machine: str | None = None) -> None:
        super().__init__(message, advice)
        self.machine = machine


class NoMachineReached(EvalroomError):
    """No machine could be reached (exit status 3)."""


class NotConfirmed(EvalroomError):
    """An action was not confirmed as it requires; nothing was sent (exit status 4)."""


class MachineError(EvalroomError):
    """An error about one machine.

    Attributes:
        machine: The name of the machine.
    """

    def __init__(self, machine: MachineName, message: str, advice: str = "") -> None:
        super().__init__(message, advice)
        self.machine = machine


class LinkLost(MachineError):
    """The connection broke or could not be made; evalroom retries it.

    Attributes:
        is_silent: Whether no data came at all: the network may be dead, so evalroom retries soon.
    """

    def __init__(
        self, machine: MachineName, message: str, advice: str = "", *, is_silent: bool = False
    ) -> None:
        super().__init__(machine, message, advice)
        self.is_silent = is_silent


class NeedsTrust(MachineError):
    """The host key is unknown.

    Args:
        machine: The machine that is not reached.
        fingerprint: See below.
        known_hosts_line: See below.
        of: The host of the key, for the message: a jump host has its own key. None: the machine's.

    Attributes:
        fingerprint: The fingerprint of the key in this handshake, `SHA256:...`.
        known_hosts_line: The line that is written if the operator accepts the key.
    """

    def __init__(
        self,
        machine: MachineName,
        fingerprint: str,
        known_hosts_line: str,
        *,
        of: str | None = None,
    ) -> None:
        super().__init__(
            machine,
            f"the host key of {of or machine} is unknown ({fingerprint})",
            "compare it with the machine's own fingerprint, then press T in the room to accept it",
        )
        self.fingerprint = fingerprint
        self.known_hosts_line = known_hosts_line


class NeedsYou(MachineError):
    """Authentication needs the operator; evalroom does not retry it by itself."""


class LinkRefused(MachineError):
    """The machine can't be used as it is.

    evalroom retries it when asked, and by itself if its link was up before.
    """


class HostKeyRefused(LinkRefused):
    """The host key changed, is revoked, or may not be accepted; the operator decides."""


class ProbeBroken(MachineError):
    """The probe did not start, or sent something that is not a frame."""


class BrokenFrame(EvalroomError):
    """Bytes that are not a frame; the session ends."""


class RequestFailed(EvalroomError):
    """One request failed.

    Attributes:
        status: The HTTP status; None if no HTTP answer came.
    """

    def __init__(self, message: str, advice: str = "", *, status: int | None = None) -> None:
        super().__init__(message, advice)
        self.status = status


class NotThere(RequestFailed):
    """The process, task or sample is gone (404 with Inspect's own error)."""


class TooLarge(RequestFailed):
    """The answer is larger than 32 MiB: narrow the request."""


class TooBusy(RequestFailed):
    """Too many requests are open already."""


class Unsupported(RequestFailed):
    """This Inspect does not have the route: it is older than the feature.

    Attributes:
        since: The first version of Inspect that has it; None: unknown.
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
    """A machine can't do a job of a launch and says why. The job was not done."""


class AnswerMalformed(EvalroomError):
    """An answer, or one row of it, does not have the expected form."""


class StorageError(EvalroomError):
    """The disk or the database failed."""


class NotSent(EvalroomError):
    """A notification was not sent."""
