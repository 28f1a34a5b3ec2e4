"""Decodes the facts of a machine and the hello of its probe."""

import re
from dataclasses import replace

import msgspec

from core.ctl.decode import (
    JsonObject,
    count,
    number,
    parse_object,
    text,
    without_huge_numbers,
)
from core.errors import AnswerMalformed
from core.model.machine import MachineFacts, ProbeFound

MAX_FACTS_BYTES = 4 * 1024 * 1024
MAX_FACT_OBJECTS = 20_000
"""Objects in the facts of a machine: GPUs, containers, processes on GPUs, disks."""
MAX_SERVERS = 32
MAX_GPUS, MAX_GPU_PROCESSES, MAX_CONTAINERS, MAX_DISKS, MAX_LOADS = 256, 200, 2_000, 100, 3
_LONG_NUMBER = re.compile(rb"\d{19}")
_FACTS = msgspec.json.Decoder(MachineFacts, strict=False)


def read_facts(body: bytes) -> MachineFacts:
    """Decode the body of a `facts` frame; unknown fields are ignored.

    Of facts that are too large to read only the number of their objects is returned, as left out.

    Raises:
        AnswerMalformed: The body is not such a document.
    """
    objects = body.count(b"{")
    if len(body) > MAX_FACTS_BYTES or objects > MAX_FACT_OBJECTS:
        return MachineFacts(at=0.0, left_out=max(1, objects))
    try:
        if _LONG_NUMBER.search(body) is not None:
            plain = without_huge_numbers(parse_object(body))
            return _bounded(msgspec.convert(plain, MachineFacts, strict=False))
        return _bounded(_FACTS.decode(body))
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
        parse_object(body)
        raise AnswerMalformed(f"the machine's facts can't be read: {str(error)[:120]}") from error


def _bounded(facts: MachineFacts) -> MachineFacts:
    """Return the facts with lists that no honest host exceeds, and the number of items cut."""
    gpus, containers = facts.gpus[:MAX_GPUS], facts.docker.containers[:MAX_CONTAINERS]
    disks = facts.disks[:MAX_DISKS]
    servers = 0 if facts.model_servers is None else max(0, len(facts.model_servers) - MAX_SERVERS)
    if facts.model_servers is not None and servers:
        facts = replace(facts, model_servers=facts.model_servers[:MAX_SERVERS])
    pids = sum(max(0, len(gpu.pids) - MAX_GPU_PROCESSES) for gpu in gpus)
    if pids:
        gpus = tuple(replace(gpu, pids=gpu.pids[:MAX_GPU_PROCESSES]) for gpu in gpus)
    left_out = (
        len(facts.gpus) - len(gpus)
        + len(facts.docker.containers) - len(containers)
        + len(facts.disks) - len(disks)
        + pids
        + servers
    )  # fmt: skip
    if not left_out and len(facts.load) <= MAX_LOADS:
        return replace(facts, left_out=0) if facts.left_out else facts
    return replace(
        facts,
        gpus=gpus,
        disks=disks,
        docker=replace(facts.docker, containers=containers),
        load=facts.load[:MAX_LOADS],
        left_out=left_out,
    )


def read_hello(head: JsonObject, at: float) -> ProbeFound:
    """Return the probe that sent this hello at `at`, Unix seconds at the desk."""
    clock = number(head, "at")
    return ProbeFound(
        python=text(head, "python") or "",
        host=text(head, "host") or "",
        platform=text(head, "platform") or "",
        user=text(head, "user") or "",
        pid=count(head, "pid") or 0,
        clock_offset=0.0 if clock is None else clock - at,
        boot_id=text(head, "boot_id") or "",
        namespace=text(head, "namespace") or "",
    )
