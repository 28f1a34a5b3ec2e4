"""Why a run does not get its GPUs."""


class Refused(Exception):
    """The run does not get its GPUs; the text is a sentence that says why."""
