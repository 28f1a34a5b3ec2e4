"""GPUs of AMD, as rocm-smi reports them."""

import json
import re

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.gpu_rows import blank_gpu
from ssh.shipped.common.text import first_line, text_of
from ssh.shipped.common.tools import run_to_end
from ssh.shipped.common.units import WHOLE_NUMBER, csv_number

SHOWN = ("--showproductname", "--showuniqueid", "--showuse", "--showmeminfo", "vram")
SHOWN += ("--showtemp", "--showpower", "--showmaxpower")
NO_PIDS = re.compile(b"No KFD PIDs|No JSON data to report")


def read_rocm(tool, timeout_s):
    """Return the rows of the GPUs, and why their processes are unknown; None: they are known."""
    gpus = []
    for name, card in sorted(rocm_json(tool, timeout_s, *SHOWN).items()):
        found = re.match(r"card([0-9]{1,18})\Z", name)
        if found and isinstance(card, dict):
            gpus.append(rocm_row(int(found.group(1)), card))
    if not gpus:
        raise Failed("rocm-smi lists no GPU")
    gpus.sort(key=lambda gpu: gpu["index"])
    return gpus, add_rocm_pids(tool, timeout_s, gpus)


def rocm_json(tool, timeout_s, *options):
    run = run_to_end([tool, *options, "--json"], timeout_s)
    text = run.out.decode("utf-8", "replace")
    at = text.find("{")
    if at < 0 and NO_PIDS.search(run.out + run.err):
        return {}
    if at < 0:
        raise Failed(first_line(run.err) or first_line(run.out, 120) or "exit %d" % run.code)
    try:
        return json.JSONDecoder().raw_decode(text[at:])[0]
    except (ValueError, RecursionError):
        raise Failed("rocm-smi did not print JSON: " + first_line(run.out, 120)) from None


def rocm_row(index, card):
    def pick(pattern):
        for key in card:
            if re.search(pattern, key, re.IGNORECASE):
                return str(card[key])
        return ""

    row = blank_gpu(index)
    row.update(
        uuid=pick(r"unique id") or None,
        name=(pick(r"card series") or pick(r"device name") or pick(r"card model"))[:200],
        utilisation=csv_number(pick(r"GPU use \(%\)")),
        memory_used=csv_number(pick(r"VRAM Total Used Memory \(B\)")),
        memory_total=csv_number(pick(r"VRAM Total Memory \(B\)")),
        temperature=csv_number(
            pick(r"temperature.*junction") or pick(r"temperature.*edge") or pick(r"temperature")
        ),
        power=csv_number(pick(r"(average|current).*package power") or pick(r"^power")),
        power_limit=csv_number(pick(r"max.*package power")),
    )
    for key in ("memory_used", "memory_total"):
        row[key] = int(row[key]) if row[key] is not None else None
    return row


def add_rocm_pids(tool, timeout_s, gpus):
    try:
        names = rocm_json(tool, timeout_s, "--showpids").get("system", {})
        where = rocm_json(tool, timeout_s, "--showpidgpus").get("system", {})
    except (Failed, AttributeError) as error:
        return text_of(error)
    by_index = {gpu["index"]: gpu for gpu in gpus}
    memory = {}
    for key, value in names.items():
        found = re.match(r"PID\s*([0-9]{1,18})\b", key)
        cells = [cell.strip() for cell in str(value).split(",")]
        if found:
            memory[int(found.group(1))] = (
                int(cells[2]) if len(cells) > 2 and WHOLE_NUMBER.match(cells[2]) else None
            )
    for key, value in where.items():
        found = re.match(r"PID\s*([0-9]{1,18})\b", key)
        cards = [int(card) for card in re.findall(r"\b[0-9]{1,18}\b", str(value))]
        for card in cards if found else ():
            if card in by_index:
                used = memory.get(int(found.group(1)))
                share = used if len(cards) == 1 else None
                by_index[card]["pids"].append({"pid": int(found.group(1)), "memory": share})
    return None
