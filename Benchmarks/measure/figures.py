"""The figures of the papers on Grouper: what is run, and what they say came out."""

import json
import statistics
import subprocess

PARTS = ("synchronization", "sharing", "network")
NAMES = ("data synchronization", "secret sharing", "network")
WAYS = ("upload", "download")

# Bytes of an object: the thesis prints 323, whose message had 656; the paper only its message, 620.
THESIS, PAPER = 323, 323 - (656 - 620)


class Figure:
    """A row of measurements along one parameter."""

    def __init__(self, name, file, title, axis, points, ways=WAYS, rounds=15):
        self.name = name
        self.file = file
        self.title = title
        self.axis = axis
        # Each (x, n, k, s, messages, bytes of an object).
        self.points = points
        self.ways = ways
        self.rounds = rounds
        self.rows = []

    def run(self, tool, servers, folder, rounds=None):
        self.rows = []
        self.rounds = rounds or self.rounds
        for x, count, threshold, sufficient, messages, size in self.points:
            found = measure(
                tool, "transfer", servers=",".join(servers.addresses[:count]), threshold=threshold, sufficient=sufficient,
                messages=messages, bytes=size, rounds=self.rounds, folder=folder)[0]
            self.rows.append((x, found))

    def bars(self, way):
        """``(x, [median seconds of each part])`` for each point."""
        return [(x, [statistics.median(one[part] for one in found[way]) for part in PARTS]) for x, found in self.rows]

    def sums(self, way):
        """Median seconds of the whole for each point."""
        return [statistics.median(sum(one[part] for part in PARTS) for one in found[way]) for _, found in self.rows]

    def line(self, way, part=None):
        """Slope, intercept and R² of the straight line through the sums, or through one part."""
        ys = self.sums(way) if part is None else [values[part] for _, values in self.bars(way)]
        return fit([x for x, _ in self.rows], ys)


def measure(tool, command, **options):
    """Runs grouper-bench and returns what it printed."""
    arguments = [tool, command]
    for name, value in options.items():
        arguments += ["--" + name, str(value)]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def fit(xs, ys):
    """Least squares."""
    if len(xs) < 2:
        return 0, ys[0], 1
    (mx, my) = (statistics.fmean(xs), statistics.fmean(ys))
    spread = sum((x - mx) ** 2 for x in xs)
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / spread
    rest = sum((y - my - slope * (x - mx)) ** 2 for x, y in zip(xs, ys))
    whole = sum((y - my) ** 2 for y in ys)
    return slope, my - slope * mx, 1 - rest / whole if whole else 1


def figures(smoke):
    """All of them; with ``smoke`` two points of each."""
    many = (1, 5) if smoke else range(10, 101, 10)
    wide = (3, 4) if smoke else range(6, 31, 3)
    most = 4 if smoke else 30
    deep = (2, 3) if smoke else range(3, 28, 3)
    low = 2 if smoke else 3
    return [
        Figure("Figure 6.1 of the thesis", "grouper-messages", "f(2, 3, 3), by the number of messages", "messages",
               [(x, 3, 2, 3, x, THESIS) for x in many], rounds=6),
        Figure("Figure 6.2(a) of the thesis", "grouper-servers", f"one message, k = {low}, s = n, by the number of servers", "n",
               [(x, x, low, x, 1, THESIS) for x in wide]),
        Figure("Figure 6.2(b) of the thesis", "grouper-threshold", f"one message, n = s = {most}, by the threshold", "k",
               [(x, most, x, most, 1, THESIS) for x in deep]),
        Figure("Figure 4 of the paper", "grouper-single", "one message, f(2, 3)", "messages", [(1, 3, 2, 3, 1, PAPER)], rounds=30),
        Figure("Figure 5 of the paper", "grouper-sending", "sending messages, f(2, 3)", "messages",
               [(x, 3, 2, 3, x, PAPER) for x in many], ways=("upload",), rounds=6),
    ]
