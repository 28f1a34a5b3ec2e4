"""Reasons why a reading has no value; each is sent as a state of the same name."""


class Failed(Exception):
    """No usable answer; the text says why in a few words."""


class Absent(Failed):
    """The thing does not exist on this machine."""


class Stuck(Failed):
    """No answer came in time."""
