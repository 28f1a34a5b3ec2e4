"""The cost of reads to an eval, and when it may be read again. Pure: callers give the time."""

import collections
import re
import zlib

QUICK_S = 2.0  # reads that take up to this cost an eval less than 1% of its time
QUICK_FACTOR = 125.0  # 0.8%: the rest of the 1% is for what a person asks
SLOW_FACTOR = 20.0  # slower ones cost it less than 5%, up to the longest pause
LONGEST_PAUSE_S = 1800.0
LONGEST_DURATION_S = 86400.0  # of an answer in a file; a longer one is not believed
OUTLIER = (
    2.0  # an answer so many times as slow as usual may be doubted: the eval may have been busy
)
MIN_DOUBT_S = 3.0
MAX_DOUBT_S = 60.0
SECOND_DOUBT_S = 20.0  # the pause after the second slow answer in a row, unless it took longer
MAX_DOUBTS = 2  # the third slow answer in a row is the cost
ALLOWED_DEBT_S = 25.0  # quick reads may run ahead of their share by a quarter of a second
FRESH_DEBT_S = 300.0  # the same for the first reads of a new probe: someone has just asked
REMEMBERED = 3
MAX_KINDS = 200
NUMBER = re.compile(r"=[0-9.]+")
PLAIN_WORD = re.compile(r"[a-z-]{1,20}\Z")


def read_kind(method, path):
    """Return the kind of a read, a short text made from the path without its numbers.

    It shows no id. The part before the dot is the same for paths of one shape.
    """
    path = NUMBER.sub("=#", path)
    place, _, query = path.partition("?")
    shape = "/".join(
        word if PLAIN_WORD.match(word) or not word else "*" for word in place.split("/")
    )
    return digest("%s %s?%s" % (method, shape, query)) + "." + digest("%s %s" % (method, path))


def digest(text):
    return "%08x" % zlib.crc32(text.encode("utf-8", "replace"))


def full_pause(took):
    """Return the pause after a read of `took` seconds, seconds."""
    if took <= QUICK_S:
        return took * QUICK_FACTOR
    return min(LONGEST_PAUSE_S, took * SLOW_FACTOR)


def doubting_pause(took, doubts=0):
    """Return the pause after a slow answer that a busy eval may explain, seconds.

    `doubts`: how many answers just before it were doubted.
    """
    shortest = SECOND_DOUBT_S if doubts else MIN_DOUBT_S
    return min(full_pause(took), MAX_DOUBT_S, max(shortest, took))


class KindCost:
    """The costs of one kind of read.

    `lasted`: the durations of the last answers. `paused_until`: when it may be read again.
    `owed`: the pauses for the answers that were doubted last, `doubts` of them, the quickest of
    which took `doubted`: they follow if the next answers are as slow.
    """

    def __init__(self, lasted=(), paused_until=0.0, owed=0.0, doubted=0.0, doubts=0):
        self.lasted = [float(each) for each in lasted][-REMEMBERED:]
        self.paused_until = float(paused_until)
        self.owed = float(owed)
        self.doubted = float(doubted)
        self.doubts = int(doubts)

    @property
    def usual(self):
        """Return the median of the last answers; of two, the quicker one."""
        return sorted(self.lasted)[(len(self.lasted) - 1) // 2]

    def as_list(self):
        lasted = [round(each, 6) for each in self.lasted]
        times = [round(each, 3) for each in (self.paused_until, self.owed, self.doubted)]
        return [lasted, *times, self.doubts]


class ReadCosts:
    """The costs of all reads of one eval. Times are those of one clock that never goes back.

    Quick reads and slow ones have a budget each, so that slow ones don't delay quick ones. Each
    answer delays its kind, and also uses up the budget of quick or of slow reads.
    """

    def __init__(self):
        self.kinds = collections.OrderedDict()  # in the order of their last answers
        self.quick_paid_at = 0.0  # when the pause for the quick reads is over
        self.slow_paid_at = 0.0

    def usual(self, kind):
        """Return the usual duration of a kind of read, seconds; a guess if it is unknown.

        The guess comes from reads of the same shape (of other tasks); else from the quickest kind,
        because the whole eval may be slow. 0: nothing is known, or only one doubted answer.
        """
        known = self.kinds.get(kind)
        if known is not None:
            return known.usual
        shape = kind.partition(".")[0] + "."
        alike = [each.usual for name, each in self.kinds.items() if name.startswith(shape)]
        if alike:
            return max(alike)
        costs = self.kinds.values()
        if sum(len(each.lasted) for each in costs) > 1 or not any(each.doubted for each in costs):
            return min([each.usual for each in costs], default=0.0)
        return 0.0

    def due(self, kind, is_first=False):
        """Return when a kind may be read again.

        `is_first`: the asking program has never read it; then a quick read needs no pause.
        """
        known = self.kinds.get(kind)
        paused_until = known.paused_until if known is not None else 0.0
        if self.usual(kind) > QUICK_S:
            return max(paused_until, self.slow_paid_at)
        if is_first:
            return self.quick_paid_at - FRESH_DEBT_S
        return max(paused_until, self.quick_paid_at - ALLOWED_DEBT_S)

    def answered(self, kind, took, now, is_starting=False):
        """Count an answer that took so long and came at `now`.

        The answer is doubted if it took longer than usual, and so is the next one if it is as
        slow; the third one shows the cost. The first slow answer of a kind is doubted only if the
        eval was starting (it may have loaded its model): else it is the cost.
        """
        cost = self.kinds.pop(kind, None) or KindCost()
        is_known = bool(cost.lasted)
        expected = cost.usual if is_known else self.usual(kind)
        is_slower = expected * OUTLIER < took and full_pause(took) > MIN_DOUBT_S
        if is_slower and cost.doubted * OUTLIER < took:
            cost.doubts, cost.doubted = 0, 0.0  # slower than those that were doubted before
        is_again = cost.doubts > 0 and (
            took * OUTLIER >= cost.doubted or (took > QUICK_S and len(cost.lasted) <= cost.doubts)
        )
        cost.lasted = [*cost.lasted, took][-REMEMBERED:]
        self.kinds[kind] = cost
        while len(self.kinds) > MAX_KINDS:
            self.kinds.popitem(last=False)
        may_doubt = is_known or is_starting or took <= QUICK_S
        if (is_again or is_slower) and may_doubt and cost.doubts < MAX_DOUBTS:
            pause = doubting_pause(took, cost.doubts)
            if not is_known and not is_starting:
                pause = max(pause, took * SLOW_FACTOR)
                cost.doubts = MAX_DOUBTS - 1  # the second answer shows the cost
            cost.owed += full_pause(took) - pause
            cost.doubted = min(took, cost.doubted or took)
            cost.doubts += 1
            share = min(pause, full_pause(cost.usual))
        else:
            pause = full_pause(took)
            if is_again and took <= QUICK_S:
                pause += cost.owed
            elif is_again:
                pause = min(LONGEST_PAUSE_S, pause + cost.owed)
            share = pause
            cost.owed = cost.doubted = 0.0
            cost.doubts = 0
        cost.paused_until = now + pause
        if (cost.usual if is_known else took) <= QUICK_S:
            self.quick_paid_at = max(self.quick_paid_at, now) + share
        else:
            self.slow_paid_at = max(self.slow_paid_at, now) + share

    # -- kept in a file

    def as_dict(self):
        return {
            "quick": round(self.quick_paid_at, 3),
            "slow": round(self.slow_paid_at, 3),
            "kinds": {kind: cost.as_list() for kind, cost in self.kinds.items()},
        }

    @classmethod
    def from_dict(cls, value, now):
        """Return the costs in a file, with pauses cut to the longest; no costs if it is damaged."""
        costs, latest = cls(), now + LONGEST_PAUSE_S
        try:
            for kind, fields in list(value["kinds"].items())[-MAX_KINDS:]:
                cost = KindCost(*fields)
                cost.lasted = [sane_duration(each) for each in cost.lasted]
                cost.doubted = sane_duration(cost.doubted)
                cost.paused_until = at_most(cost.paused_until, latest)
                cost.owed = at_most(cost.owed, LONGEST_PAUSE_S)
                if cost.lasted:
                    costs.kinds[kind] = cost
            costs.quick_paid_at = at_most(float(value["quick"]), latest)
            costs.slow_paid_at = at_most(float(value["slow"]), latest)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
            return cls()
        return costs


def at_most(value, highest):
    # In this order, what is not a number becomes the highest. No time here is below 0.
    return max(0.0, min(highest, value))


def sane_duration(value):
    """Return a duration in a file, seconds: an eval may have written it."""
    return at_most(float(value), LONGEST_DURATION_S)
