"""Decodes the facts of a machine and the hello of its probe."""

import msgspec

from core.ctl.decode import JsonObject, count, number, parse_object, text
from core.errors import AnswerMalformed
from core.model.machine import MachineFacts, ProbeFound

_FACTS = msgspec.json.Decoder(MachineFacts, strict=False)


def read_facts(body: bytes) -> MachineFacts:
    """Decode the body of a `facts` frame; unknown fields are ignored.

    Raises:
        AnswerMalformed: The body is not such a document.
    """
    try:
        return _FACTS.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
        parse_object(body)
        raise AnswerMalformed(f"the machine's facts can't be read: {str(error)[:120]}") from error


def read_hello(head: JsonObject, at: float) -> ProbeFound:
    """Return the probe that sent this hello at `at`, Unix seconds at the desk."""
    clock = number(head, "at")
    return ProbeFound(
        python=text(head, "python") or "",
        host=text(head, "host") or "",
        platform=text(head, "platform") or "",
        user=text(head, "user") or "",
        pid=count(head, "pid") or 0,
        read_only=head.get("read_only") is not False,
        clock_offset=0.0 if clock is None else clock - at,
        boot_id=text(head, "boot_id") or "",
        namespace=text(head, "namespace") or "",
    )
