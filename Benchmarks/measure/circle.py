"""A circle of people who hold shares of one secret, day by day; only shares are counted, none is computed.

The rules of changes are those of docs/formats/lifecycle.md: three holders deal, whoever has a row takes over, and a
device erases its older shares when all rows are READY and its own person has said yes.
"""

import bisect
import heapq
import math
import random

PEOPLE, THRESHOLD = 5, 3
YEAR, YEARS = 365, 10
DAYS = YEAR * YEARS
# A proposal is over after so many days, and an owner who reshares looks at the shares so often.
EXPIRES, CHECK = 31, 30
METHODS = ("nothing", "resharing", "redistribution")
# Parts of the lost devices that one and the same adversary gets and can read.
TAKEN = (0.25, 1.0)
# Days: until it is known that somebody has left, and then until somebody else is found, least and most.
KNOWN, FOUND = 30, (30, 180)
# Days that somebody is away, least and most.
AWAY = (30, 180)
# What happens on one day happens in this order.
LOSS, RETURN, CHECKED, SAID, TAKE = range(5)


class People:
    """How they are: chance of a lost device and of leaving in a year, and how they answer."""

    def __init__(self, loss, notice=14, answer=14.0, never=0.1, away=0.1, leaving=0.0):
        self.loss = loss
        # Most days until a loss is noticed and cards are exchanged, and mean days until somebody says yes.
        self.notice = notice
        self.answer = answer
        # Part of the questions that are never answered, and of the time that somebody is away.
        self.never = never
        self.away = away
        self.leaving = leaving


def between(source, least, most):
    return least + int(source.random() * (most - least + 1))


def exponential(source, mean):
    """Whole days, at least one. Only ``random`` is the same in every version of Python."""
    return max(1, math.ceil(-mean * math.log(1 - source.random())))


def days(source, chance):
    """The days on which something happens that has this chance in a year."""
    day, found = 0, []
    while chance > 0:
        day += exponential(source, -YEAR / math.log(1 - chance))
        if day >= DAYS:
            break
        found.append(day)
    return found


class World:
    """What befalls a circle whatever it does about its shares."""

    def __init__(self, seed, number, people):
        source = random.Random(f"world {seed} {number}")
        self.losses = [[(day, source.random()) for day in days(source, people.loss)] for _ in range(PEOPLE)]
        self.leaving = [[(day, source.random(), between(source, *FOUND)) for day in days(source, people.leaving)]
                        for _ in range(PEOPLE)]
        self.absences = [self.absence(source, people.away) for _ in range(PEOPLE)]

    @staticmethod
    def absence(source, part):
        """Days of leaving and coming back, in turn."""
        day, found = 0, []
        while part > 0:
            day += exponential(source, sum(AWAY) / 2 * (1 - part) / part)
            if day >= DAYS:
                break
            found.append(day)
            day += between(source, *AWAY)
            found.append(day)
        return found

    def back(self, seat, day):
        """The day itself, or that on which the person is back."""
        place = bisect.bisect_right(self.absences[seat], day)
        return self.absences[seat][place] if place % 2 else day


class Record:
    """A sharing: the device of each row, or None for one that is lost already though nobody knows."""

    def __init__(self, number, parent, rows):
        self.number = number
        self.parent = parent
        self.rows = rows
        self.dealers, self.yes, self.ready = set(), set(), set()
        self.made = self.over = False

    @property
    def complete(self):
        return len(self.ready) >= min(len(self.rows), 2 * THRESHOLD - 1)


class Circle:
    """One world, and one way to care for the shares in it."""

    def __init__(self, world, method, people, seed, number):
        self.world, self.method, self.people = world, method, people
        self.source = random.Random(f"answers {seed} {number} {method}")
        seats = range(PEOPLE)
        self.device = [0] * PEOPLE
        self.gone, self.vacant = [False] * PEOPLE, [False] * PEOPLE
        # Whether friends have the card of the device.
        self.known = [True] * PEOPLE
        self.shares = [{0} for _ in seats]
        # Of what a device has erased the lower numbers.
        self.floor = [0] * PEOPLE
        first = Record(0, None, {seat: 0 for seat in seats})
        first.made, first.yes, first.ready = True, set(seats), set(seats)
        self.records, self.newest, self.open, self.count = [first], first, None, 0
        self.owner = True
        self.taken = [{} for _ in TAKEN]
        # What comes out: days with so many live shares; how long fewer than all lived; the days of the worst.
        self.lived = [0] * (PEOPLE + 1)
        self.gaps, self.lost, self.taken_on = [], None, [None for _ in TAKEN]
        self.changes = self.completed = 0
        # Whether a share has come or gone since they were counted.
        self.moved = False
        self.queue, self.serial = [], 0

    def at(self, day, order, what, *arguments):
        self.serial += 1
        heapq.heappush(self.queue, (day, order, self.serial, what, arguments))

    def run(self):
        for seat in range(PEOPLE):
            for day, fate in self.world.losses[seat]:
                self.at(day, LOSS, self.lose, seat, fate)
            for day, fate, found in self.world.leaving[seat]:
                self.at(day, LOSS, self.leave, seat, fate, found)
        if self.method == "resharing":
            for day in range(CHECK, DAYS, CHECK):
                self.at(day, CHECKED, self.check)
        now, live, since = 0, PEOPLE, None
        while self.queue and self.queue[0][0] < DAYS:
            day, _, _, what, arguments = heapq.heappop(self.queue)
            self.lived[live] += day - now
            now = day
            what(day, *arguments)
            if not self.moved:
                continue
            live, hope = self.count_shares()
            self.moved = False
            if hope >= THRESHOLD:
                self.lost = None
            elif self.lost is None:
                self.lost = day
            if live < PEOPLE and since is None:
                since = day
            elif live == PEOPLE and since is not None:
                self.gaps.append(day - since)
                since = None
        self.lived[live] += DAYS - now
        return self

    def count_shares(self):
        """Live shares of the sharing that has most of them, and that with those which can still be taken over."""
        live = hope = 0
        rest = []
        for record in self.records:
            held = still = 0
            for seat, device in record.rows.items():
                held += record.number in self.shares[seat]
                still += device == self.device[seat] and record.number >= self.floor[seat]
            live, hope = max(live, held), max(hope, still)
            if still or record is self.newest:
                rest.append(record)
        self.records = rest
        return live, hope

    # What befalls them

    def lose(self, day, seat, fate):
        if self.gone[seat]:
            return
        self.drop(day, seat, fate)
        self.at(day + between(self.source, 1, self.people.notice), RETURN, self.notice, seat, self.device[seat])

    def leave(self, day, seat, fate, found):
        if self.gone[seat]:
            return
        self.drop(day, seat, fate)
        self.gone[seat] = True
        self.owner = self.owner and seat != 0
        self.at(day + KNOWN, RETURN, self.miss, seat)
        self.at(day + KNOWN + found, RETURN, self.join, seat)

    def drop(self, day, seat, fate):
        """The device is gone, and with some chance in the adversary's hands."""
        for level, part in enumerate(TAKEN):
            if fate < part:
                for number in self.shares[seat]:
                    found = self.taken[level].setdefault(number, set())
                    found.add(seat)
                    if len(found) >= THRESHOLD and self.taken_on[level] is None:
                        self.taken_on[level] = day
        self.moved = True
        self.device[seat] += 1
        self.shares[seat] = set()
        self.floor[seat] = 0
        self.known[seat] = False

    def miss(self, _, seat):
        self.vacant[seat] = True

    def join(self, day, seat):
        """Somebody else takes the place of one who has left."""
        if self.later(day, seat, RETURN, self.join, seat):
            return
        self.gone[seat] = self.vacant[seat] = False
        self.known[seat] = True
        self.consider(day)

    def notice(self, day, seat, device):
        if self.device[seat] != device or self.gone[seat] or self.later(day, seat, RETURN, self.notice, seat, device):
            return
        self.known[seat] = True
        self.consider(day)

    def later(self, day, seat, order, what, *arguments):
        """Whether the person is away, and does it when back."""
        back = self.world.back(seat, day)
        if back > day:
            self.at(back, order, what, *arguments)
        return back > day

    # What they do about it

    def check(self, day):
        if self.owner and self.known[0] and self.world.back(0, day) == day:
            self.propose(day)

    def consider(self, day):
        if self.method == "redistribution":
            self.propose(day)

    def propose(self, day):
        """Asks everybody, if a device is without a row and nothing is being asked."""
        waits = [seat for seat in range(PEOPLE) if self.known[seat] and self.newest.rows.get(seat) != self.device[seat]]
        parents = [record.number for record in self.records
                   if record.made and sum(record.number in held for held in self.shares) >= THRESHOLD]
        if self.open or not waits or not parents:
            return
        self.count += 1
        rows = {seat: self.device[seat] if self.known[seat] else None
                for seat in range(PEOPLE) if not self.vacant[seat]}
        record = self.open = Record(self.count, max(parents), rows)
        for seat, device in rows.items():
            if device is None:
                continue
            if seat in waits:
                record.yes.add(seat)
            elif self.method == "resharing" and seat == 0:
                self.at(day, SAID, self.say, record, seat)
            elif self.source.random() >= self.people.never:
                start = self.world.back(seat, day)
                self.at(start + exponential(self.source, self.people.answer), SAID, self.say, record, seat)
        self.at(day + EXPIRES, CHECKED, self.expire, record)

    def expire(self, day, record):
        if not record.made:
            record.over, self.open = True, None
            self.consider(day)

    def say(self, day, record, seat):
        """A person says yes; the device deals if it still can."""
        if record.over or record.rows[seat] != self.device[seat]:
            return
        if self.later(day, seat, SAID, self.say, record, seat):
            return
        record.yes.add(seat)
        if record.made:
            self.erase(record, seat)
        elif record.parent in self.shares[seat]:
            record.dealers.add(seat)
            if len(record.dealers) == THRESHOLD:
                self.make(day, record)

    def make(self, day, record):
        self.moved = record.made = True
        self.open, self.newest = None, record
        self.records.append(record)
        self.changes += 1
        for seat in record.rows:
            self.at(day + 1, TAKE, self.take, record, seat)

    def take(self, day, record, seat):
        if record.rows[seat] != self.device[seat] or record.number < self.floor[seat]:
            return
        if self.later(day, seat, TAKE, self.take, record, seat):
            return
        self.moved = True
        self.shares[seat].add(record.number)
        before = record.complete
        record.ready.add(seat)
        if record.complete:
            self.completed += not before
            for one in record.rows:
                self.erase(record, one)
        # The next change begins with what this one has brought.
        self.at(day + 1, CHECKED, self.consider)

    def erase(self, record, seat):
        """An owner who reshares has the old shares deleted without asking anybody."""
        agreed = seat in record.yes or self.method == "resharing"
        if record.complete and agreed and record.number in self.shares[seat]:
            self.moved = True
            self.shares[seat] = {number for number in self.shares[seat] if number >= record.number}
            self.floor[seat] = max(self.floor[seat], record.number)


def run(method, people, seed, worlds):
    """The circles of these worlds, in their order."""
    return [Circle(World(seed, number, people), method, people, seed, number).run() for number in worlds]


def lost_without_care(chance, years):
    """How likely fewer than enough of the first devices are left, by the binomial distribution."""
    gone = 1 - (1 - chance) ** years
    return sum(math.comb(PEOPLE, count) * gone**count * (1 - gone) ** (PEOPLE - count)
               for count in range(PEOPLE - THRESHOLD + 1, PEOPLE + 1))
