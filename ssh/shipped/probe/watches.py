"""Watches: repeated GETs."""

from ssh.shipped.probe.read_costs import read_kind


class Watch:
    def __init__(self, head):
        self.name = head["name"]
        self.path = head["path"]
        self.every = max(0.2, float(head["every"]))
        self.as_of = head.get("as_of")
        self.due = 0.0
        self.asked = None  # when the last read began
        self.took = self.wait = 0.0  # of the last read, and from it to the next one
        self.is_hurried = False  # someone asked for it: the next read needs no pause
        self.raw = None  # (length, hash) of the last answer
        self.last = None  # the same without its clocks
        self.trouble = None  # the error that the desk knows
        self.kinds = {}  # whether the read is a full one -> its kind

    def take_over(self, old, now):
        """Continue from the watch that this one replaces."""
        if old.path != self.path:
            return
        self.as_of = old.as_of if old.as_of is not None else self.as_of
        self.last, self.raw, self.trouble = old.last, old.raw, old.trouble
        self.is_hurried = old.is_hurried
        self.took, self.wait = old.took, old.wait
        if old.asked is not None:
            self.asked = old.asked
            self.due = min(old.asked + self.every, max(old.due, now))

    @property
    def kind(self):
        """Return the kind of the next read; a delta and a full read are different kinds."""
        is_full = self.as_of is None
        if is_full not in self.kinds:
            self.kinds[is_full] = read_kind("GET", self.filled_path())
        return self.kinds[is_full]

    def filled_path(self):
        if "{as_of}" not in self.path:
            return self.path
        if self.as_of is not None:
            return self.path.replace("{as_of}", repr(self.as_of))
        base, _, query = self.path.partition("?")
        kept = [pair for pair in query.split("&") if "{as_of}" not in pair]
        return base + ("?" + "&".join(kept) if kept else "")
