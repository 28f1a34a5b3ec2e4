"""What nvidia-smi and rocm-smi may answer before a GPU is given."""

from typing import Any

import pytest

from ssh.shipped.gpu_holder.main import EXIT_NO_GPUS
from ssh.shipped.survey import gpus as survey_gpus
from tests.support.gpus import (
    HOLDER,
    RUN,
    TWO,
    Gpus,
    Ran,
)
from tests.support.processes import environ_of
from tests.support.waiting import wait_until


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("", "1 GPU requested, 0 of 0 free"),
        ("0, [GPU is lost], [GPU is lost]\n", "GPU 0 is lost"),
        ("0, GPU-aa, Enabled\n", "GPU 0 is split into MIG slices, which evalroom does not reserve"),
    ],
)
def test_a_gpu_that_can_not_be_given_is_reported(gpus: Gpus, rows: str, why: str) -> None:
    refused = gpus.are(rows).ran(1)
    assert (refused.status, refused.pid) == (EXIT_NO_GPUS, None)
    assert why in refused.err


INFOROM = "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n"
BUSY = "GPU-aa, 4242\n"


@pytest.mark.parametrize(
    ("apps", "note", "status", "given"),
    [
        (BUSY, INFOROM, 14, "1"),
        (BUSY, "", 14, "1"),
        ("GPU-aa, [Not Found]\n", INFOROM, 14, "1"),
        ("No running processes found\n", "", 0, "0"),
    ],
)
def test_rows_of_nvidia_smi_count_whatever_its_status(
    gpus: Gpus, ended: list[Ran], *, apps: str, note: str, status: int, given: str
) -> None:
    ended.append(ran := gpus.are(TWO, apps, note, status).ran(1))
    assert (ran.status, ran.given) == (0, given), ran.err


def test_in_a_container_a_listed_process_makes_a_gpu_busy_and_has_no_pid(gpus: Gpus) -> None:
    words = gpus.are(TWO, "GPU-aa, 1\n").words(2)
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", *words]
    refused = gpus.end_of(gpus.start(inside))
    assert refused.status == EXIT_NO_GPUS
    outside = "GPU 0 is in use by processes that have other pids outside this container"
    assert refused.err.endswith(f"2 GPUs requested, 1 of 2 free; {outside}\n")


def test_the_survey_in_a_container_names_no_pid_of_the_host(
    gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus.are(TWO, "GPU-aa, 1\n")
    where = {"nvidia-smi": str(gpus.folder / "nvidia-smi")}
    monkeypatch.setattr(survey_gpus, "tool_path", where.get)
    monkeypatch.setattr(survey_gpus, "has_own_pids", lambda: True)
    survey: Any = survey_gpus  # the shipped programs have no types
    busy, free = survey.read_gpus()
    assert (busy["pids"], busy["blocked"]) == ([], survey_gpus.OUTSIDE)
    assert (free["pids"], free.get("blocked")) == ([], None)


def _report(*parts: str) -> str:
    """Return what `nvidia-smi -q -d PIDS` prints, with such a part for each GPU."""
    heads = (f"GPU 00000000:{17 + at}:00.0\n{part}\n" for at, part in enumerate(parts))
    return f"Timestamp : now\nAttached GPUs                 : {len(parts)}\n" + "".join(heads)


IDLE = "    Processes                             : None"
UNKNOWN = "    Processes                             : N/A"
DRAWS = "    Processes\n        Process ID  : 9\n            Type    : G\n"
COMPUTES = f"{DRAWS}        Process ID  : 8\n            Type    : C\n"


LOST = "Unable to determine the device handle for GPU 0000:B1:00.0: GPU is lost.\n"


@pytest.mark.parametrize(
    ("rows", "note", "status", "report"),
    [
        (TWO, INFOROM, 14, _report(IDLE, IDLE)),
        (TWO, "", 14, _report(DRAWS, IDLE)),
        ("0, GPU-aa, Disabled\n1, [GPU is lost], [GPU is lost]\n", LOST, 15, _report(IDLE)),
    ],
)
def test_an_empty_list_counts_where_the_report_says_that_nothing_runs(
    gpus: Gpus, ended: list[Ran], *, rows: str, note: str, status: int, report: str
) -> None:
    ended.append(ran := gpus.are(rows, "", note, status, report).ran(1))
    assert (ran.status, ran.given) == (0, "0"), ran.err


@pytest.mark.parametrize(
    "report",
    ["", "ERROR: no such option\n", _report(IDLE), _report(IDLE, UNKNOWN), _report(IDLE, COMPUTES)],
)
@pytest.mark.parametrize(("note", "status"), [(INFOROM, 14), (LOST, 15)])
def test_an_empty_list_beside_a_warning_is_not_an_answer(
    gpus: Gpus, note: str, status: int, report: str
) -> None:
    refused = gpus.are(TWO, "", note, status, report).ran(1)
    assert (refused.status, refused.pid) == (EXIT_NO_GPUS, None)
    expected = "GPU 0 may be in use: nvidia-smi does not list the processes: exit"
    assert expected in refused.err


@pytest.mark.parametrize(
    ("apps", "status", "why"),
    [
        ("", 14, "exit 14, the infoROM is corrupted"),
        ("", 255, "exit 255"),
        ("Insufficient Permissions\n", 4, "Insufficient Permissions"),
        ("Segmentation fault\n", 0, "Segmentation fault"),
        ("GPU-bb, 77\nFailed to query\n", 255, "Failed to query"),
    ],
)
def test_without_an_answer_about_processes_nothing_is_given(
    gpus: Gpus, *, apps: str, status: int, why: str
) -> None:
    refused = gpus.are(TWO, apps, "", status).ran(1)
    assert (refused.status, refused.pid) == (EXIT_NO_GPUS, None)
    expected = f"GPU 0 may be in use: nvidia-smi does not list the processes: {why}"
    assert expected in refused.err


@pytest.mark.parametrize(
    ("row", "use"), [("70000, 0", "68.4 GiB in use"), ("600, 97", "97% utilisation")]
)
def test_a_gpu_that_is_used_by_nobody_that_can_be_seen_is_not_free(
    gpus: Gpus, ended: list[Ran], row: str, use: str
) -> None:
    gpus.are(f"0, GPU-aa, Disabled, {row}\n1, GPU-bb, Disabled, 500, 0\n")
    ended.append(ran := gpus.ran(1))
    assert ran.given == "1"
    refused = gpus.ran(1)
    why = f"GPU 0 is in use by processes that this account can't see ({use})"
    assert (refused.status, why in refused.err) == (EXIT_NO_GPUS, True), refused.err


def test_a_gpu_whose_use_is_that_of_an_eval_that_just_left_is_waited_for(
    gpus: Gpus, ended: list[Ran]
) -> None:
    gpus.are("0, GPU-aa, Disabled, 70000, 90\n")
    mark = gpus.folder / "asked"
    tool = gpus.folder / "nvidia-smi"
    tool.write_text(tool.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\necho >>{mark}\n"))
    child = gpus.start(gpus.words(1))
    wait_until(mark.exists, "the driver is asked")
    gpus.are("0, GPU-aa, Disabled, 3, 0\n")
    ended.append(ran := gpus.end_of(child))
    assert (ran.status, ran.given) == (0, "0"), ran.err


@pytest.mark.parametrize(
    ("bound", "given"),
    [("1", "1"), ("GPU-b", "1"), ("1,0", "0"), ("", None), ("-1,0", None), ("7", None)],
)
def test_the_logins_own_bound_holds(
    gpus: Gpus, ended: list[Ran], monkeypatch: pytest.MonkeyPatch, bound: str, given: str | None
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", bound)
    ended.append(ran := gpus.ran(1))
    if given is None:
        assert ran.status == EXIT_NO_GPUS
        assert f"GPU 0 is hidden by the login's CUDA_VISIBLE_DEVICES={bound}" in ran.err
        return
    assert ran.given == given, ran.err
    assert ran.pid is not None
    assert environ_of(ran.pid)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


UNEQUAL = "0, GPU-aa, Disabled, 0, 0, NVIDIA T400\n1, GPU-bb, Disabled, 0, 0, NVIDIA H100, SXM\n"


@pytest.mark.parametrize(
    ("bound", "order", "given"),
    [
        ("0", "PCI_BUS_ID", "0"),
        ("GPU-bb", None, "1"),
        ("1,0", None, "0"),  # both, in whichever order
        ("0", None, None),
        ("1", "FASTEST_FIRST", None),
    ],
)
def test_a_number_of_the_login_says_nothing_where_gpus_differ(
    gpus: Gpus,
    ended: list[Ran],
    monkeypatch: pytest.MonkeyPatch,
    *,
    bound: str,
    order: str | None,
    given: str | None,
) -> None:
    """CUDA counts the fastest GPU first, unless the login says PCI_BUS_ID."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", bound)
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    if order is not None:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", order)
    ended.append(ran := gpus.are(UNEQUAL).ran(1))
    if given is not None:
        assert (ran.status, ran.given) == (0, given), ran.err
        return
    assert ran.status == EXIT_NO_GPUS
    for index in (0, 1):
        why = f"GPU {index} may be hidden by the login's CUDA_VISIBLE_DEVICES={bound}, which counts"
        assert why in ran.err
    assert "add CUDA_DEVICE_ORDER=PCI_BUS_ID to the login, or name UUIDs there" in ran.err


def _printed(gpus: Gpus, tool: str, script: str, timeout_s: float = 20.0) -> str:
    """What is said with this tool in the place of nvidia-smi."""
    hasty = gpus.folder / "hasty.py"
    hasty.write_text(
        HOLDER.read_text()
        .replace("TOOL_TIMEOUT_S = 20.0", f"TOOL_TIMEOUT_S = {timeout_s}")
        .replace("or os.defpath) + TOOL_FOLDERS", "or os.defpath)")
    )
    (gpus.folder / "nvidia-smi").unlink(missing_ok=True)
    if tool:
        (gpus.folder / tool).write_text(f"#!/bin/sh\n{script}\n")
        (gpus.folder / tool).chmod(0o755)
    refused = gpus.ran(3, holder=hasty)
    assert (refused.status, refused.pid) == (EXIT_NO_GPUS, None)
    return refused.err.removeprefix("evalroom: ")


def test_without_an_answer_of_the_driver_nothing_is_reserved(gpus: Gpus) -> None:
    none = "this machine has neither nvidia-smi nor rocm-smi, so its GPUs are unknown\n"
    assert _printed(gpus, "", "") == none
    broken = _printed(gpus, "nvidia-smi", "echo no driver >&2; exit 9")
    assert broken == "nvidia-smi lists no GPU: no driver\n"
    hung = _printed(gpus, "nvidia-smi", "exec sleep 60", timeout_s=0.3)
    assert hung == "nvidia-smi did not answer in 0 s, so the free GPUs are unknown\n"
    assert not gpus.locks.exists()


def test_gpus_of_amd_are_reserved_by_their_indexes(gpus: Gpus, ended: list[Ran]) -> None:
    said = _printed(
        gpus,
        "rocm-smi",
        'case $1 in *pid*) echo \'{"system": {"PID 77": "1"}}\';;'
        ' *) echo \'WARN\n{"card0": {"Unique ID": "0xabc"}, "card1": {}}\';; esac',
    )
    assert said == "3 GPUs requested, 1 of 2 free; GPU 1 is used by pid 77\n"
    ended.append(ran := gpus.ran(1))
    assert ran.given == "0"
    assert gpus.held_by("index-0")["run"] == RUN
    assert ran.pid is not None
    assert environ_of(ran.pid)["HIP_VISIBLE_DEVICES"] == "0"


@pytest.mark.parametrize(
    ("bounds", "given"),
    [
        ({"ROCR_VISIBLE_DEVICES": "1"}, "1"),
        ({"HIP_VISIBLE_DEVICES": "1"}, "1"),
        ({"ROCR_VISIBLE_DEVICES": "1,0", "HIP_VISIBLE_DEVICES": "1"}, "0"),
    ],
)
def test_the_bounds_of_amd_hold(
    gpus: Gpus,
    ended: list[Ran],
    monkeypatch: pytest.MonkeyPatch,
    bounds: dict[str, str],
    given: str,
) -> None:
    for name, value in bounds.items():
        monkeypatch.setenv(name, value)
    said = _printed(
        gpus,
        "rocm-smi",
        "case $* in *pid*) echo 'WARNING: No JSON data to report' >&2;;"
        ' *) echo \'{"card0": {}, "card1": {}}\';; esac',
    )
    assert said.startswith("3 GPUs requested, 1 of 2 free")
    ended.append(ran := gpus.ran(1))
    assert ran.given == given
    assert ran.pid is not None
    assert "ROCR_VISIBLE_DEVICES" not in environ_of(ran.pid)


def test_without_an_answer_about_processes_no_gpu_of_amd_is_given(gpus: Gpus) -> None:
    script = "case $* in *pid*) echo broken;; *) echo '{\"card0\": {}}';; esac"
    said = _printed(gpus, "rocm-smi", script)
    assert "GPU 0 may be in use: rocm-smi does not list the processes: broken" in said
