"""Watches: repeated GETs, and how long to pause between them."""

LOAD_FACTOR = 100.0  # reading may cost an eval at most one part in a hundred of its time
MAX_PAUSE_S = 60.0  # the longest that this rule alone delays a read
MAX_FIRST_PAUSE_S = 3.0  # the longest that one slow answer delays it


class Watch:
    def __init__(self, head):
        self.name = head["name"]
        self.path = head["path"]
        self.every = max(0.2, float(head["every"]))
        self.as_of = head.get("as_of")
        self.due = 0.0
        self.asked = None  # when the last read began
        self.raw = None  # (length, hash) of the last answer
        self.last = None  # the same without its clocks
        self.trouble = None  # the error that the desk knows
        self.took = None

    def take_over(self, old, now):
        """Continue from the watch that this one replaces."""
        if old.path != self.path:
            return
        self.as_of = old.as_of if old.as_of is not None else self.as_of
        self.last, self.raw, self.trouble = old.last, old.raw, old.trouble
        self.took = old.took
        if old.asked is not None:
            self.asked = old.asked
            self.due = min(old.asked + self.every, max(old.due, now))

    def filled_path(self):
        if "{as_of}" not in self.path:
            return self.path
        if self.as_of is not None:
            return self.path.replace("{as_of}", repr(self.as_of))
        base, _, query = self.path.partition("?")
        kept = [pair for pair in query.split("&") if "{as_of}" not in pair]
        return base + ("?" + "&".join(kept) if kept else "")


def fair_pause(took, before):
    """Return the seconds to leave an eval alone after a read of `took` seconds.

    A hundred times as long as the read. A single slow answer proves little (the eval may just
    have been busy), so it counts in full only if the read before was slow too.
    """
    steady = took if before is None else min(took, before)
    limit = MAX_FIRST_PAUSE_S if before is None else max(MAX_FIRST_PAUSE_S, steady * LOAD_FACTOR)
    return min(MAX_PAUSE_S, took * LOAD_FACTOR, limit)
