"""Recovers the log of a dead eval: Inspect writes a new one with the samples in the buffer."""

from ssh.shipped.log_script.places import check_place
from ssh.shipped.log_script.sample_views import FAILED, OK
from ssh.shipped.log_script.texts import failure_text

NOT_POSSIBLE = 409


def recovery_answer(inspect_log, path, schemes):
    """Return {"status": HTTP status, "body": the new log and its number of samples, or why not}."""
    recover = getattr(inspect_log, "recover_eval_log", None)
    if recover is None:
        return refused("this Inspect can't recover logs; a newer one can")
    try:
        check_place(path, schemes)
        header = inspect_log.read_eval_log(path, header_only=True)
        if header.status != "started":
            return refused("the log is complete: it says %s" % header.status)
        log = recover(path)
    except BaseException as error:
        name = type(error).__name__
        status = NOT_POSSIBLE if name == "RecoveryNotAvailable" else FAILED
        return {"status": status, "body": {"error": failure_text(error)}}
    location = str(log.location or "")
    return {"status": OK, "body": {"log": location, "samples": sample_count(inspect_log, location)}}


def refused(why):
    return {"status": NOT_POSSIBLE, "body": {"error": why}}


def sample_count(inspect_log, location):
    try:
        return len(inspect_log.read_eval_log_sample_summaries(location))
    except BaseException:
        return 0
