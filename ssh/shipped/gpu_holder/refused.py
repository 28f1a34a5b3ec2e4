"""The error that a run does not get its GPUs."""


class Refused(Exception):
    """The run does not get its GPUs; the message says why."""
