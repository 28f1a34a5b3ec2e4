"""The error that ends a job: the desk shows its sentence and its advice."""

import errno


class CannotDo(Exception):
    """The job can't be done: the message says why, and the advice says what to do."""

    def __init__(self, sentence, advice=""):
        super().__init__(sentence)
        self.advice = advice


def no_space(what):
    advice = "free some space on that disk, then try again"
    return CannotDo("no space is left for %s" % what, advice)


def not_written(path, error):
    """Return the CannotDo for an OSError from writing."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return no_space(path)
    if error.errno == errno.EROFS:
        return CannotDo("%s is on a read-only disk" % path)
    return CannotDo("%s can't be written: %s" % (path, error.strerror or error))
