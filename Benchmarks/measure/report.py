"""The figures as a page and a picture."""

import math
from xml.sax.saxutils import escape

from .sections import COUNT, THRESHOLD
from .targets import targets


def markdown(results):
    machine = results["machine"]
    lines = [
        "# Measurements", "",
        f"Made by `make bench` on {machine['date']}, in one run: {machine['text']}.",
        "Contenders take turns; a time is the median of all runs, a ratio the median of the ratios to the reference in the",
        "same round. Peak memory is the largest of all runs; a dash means less than can be told apart from the script that",
        "measures. CPU is user and system time of the process.", "",
    ]
    if machine["load"] > machine["cores"]:
        lines += [
            f"**The machine was busy with other work meanwhile (load {machine['load']:.0f} before the run)**: times are too long,"
            " and ratios are rough.", "",
        ]
    if "files" in results:
        lines += ["![ratios of wall time to age's](comparison.svg)", ""]
    wanted = targets(results)
    if wanted:
        lines += ["## Targets", "", *table(["target", "measured", ""], wanted), ""]
    for sizes in results.get("files", []):
        lines += file_tables(sizes)
    if "many" in results:
        threshold, count = results["many"]["scheme"]
        lines += [f"## A small secret, {threshold} of {count}", "", *both_ways(results["many"]), ""]
    if "start" in results:
        rows = results["start"]
        cells = [[row.name, seconds(row.wall), ratio(row.ratio(rows[0])), seconds(row.cpu)] for row in rows]
        lines += ["## Start of the programs", "", *table(["program", "wall", "ratio", "CPU"], cells), ""]
    if "micro" in results:
        lines += ["## Parts", "", *table(["part", "wall", "CPU", "per second"], map(part, results["micro"])), ""]
    if "daemon" in results:
        cells = [[one["name"], f"{one['value']:,.1f} {one['unit']}", one["bound"] or "–"] for one in results["daemon"]]
        lines += ["## The daemon under load, and long lists", "", *table(["", "measured", "target"], cells), ""]
    lines += others()
    return "\n".join(lines).rstrip() + "\n"


OTHERS = [
    ("server.md", "how many shares does a share server take a second?", "make bench-server"),
    ("grouper.md", "the experiments of the papers on groups, with thirty share servers", "make bench-grouper"),
    ("courier.md", "do parcels arrive that people carry?", "make bench-courier"),
    ("latency.md", "how long does a message take?", "make bench-latency"),
    ("bluetooth.md", "how fast is Bluetooth LE in a virtual machine?", "make bench-ble"),
    ("lifecycle.md", "is a secret still there after ten years, when devices are lost?", "make bench-lifecycle"),
]


def others():
    """The pages beside this one."""
    cells = [[f"[{name}]({name})", question, f"`{command}`"] for name, question, command in OTHERS]
    return ["## Other pages", "", *table(["page", "question", "made by"], cells)]


def file_tables(sizes):
    row, reference = sizes["lossy"]
    back = [*sizes["back"], row]
    title = f"## {size(sizes['size'])}, {THRESHOLD} of {COUNT}"
    rows = {"out": sizes["out"], "back": back}
    return [title, "", *both_ways(rows, {row.name: reference}), ""]


def both_ways(rows, references=None):
    """One table for both directions. The first contender is the reference; ``references`` names those that were measured
    beside other runs of it."""
    head = ["", "wall", f"ratio to {rows['out'][0].name}", "CPU", "peak memory", "daemons: CPU", "largest"]
    served = any(row.daemon_peak for row in rows["out"] + rows["back"])
    cells = []
    for way, word in (("out", "protect"), ("back", "bring back")):
        base = rows[way][0]
        for row in rows[way]:
            beside = (references or {}).get(row.name, base)
            cells.append(
                [f"{word}: {row.name}", seconds(row.wall), ratio(row.ratio(beside)), seconds(row.cpu), memory(row.peak)]
                + ([seconds(row.daemon_cpu), memory(row.daemon_peak)] if served else []))
    return table(head[: 7 if served else 5], cells)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def part(found):
    rate = f"{found['bytes'] / found['wall'] / 1e6:,.0f} MB" if found["bytes"] else f"{1 / found['wall']:,.0f}"
    return [found["part"], seconds(found["wall"]), seconds(found["cpu"]), rate]


def size(count):
    for unit, factor in (("GiB", 1 << 30), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} bytes"


def seconds(value):
    if value is None:
        return "–"
    for unit, factor in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def ratio(value):
    return "–" if value is None else f"{value:.2f}" if 0.1 <= value < 100 else f"{value:.2g}" if value < 1 else f"{value:.0f}"


def memory(value):
    return "–" if value is None else f"{value:.0f} MiB"


# MARK: Picture

WIDTH, LEFT, BAR, GAP = 860, 250, 18, 6
COLOURS = {"age": "#888888", "cat": "#bbbbbb", "gfshare": "#b58a3c"}
OURS = "#2f6f9f"


def picture(results):
    """Bars of the wall time as a ratio to age's, on a scale of powers, for every size and both directions."""
    groups = []
    for sizes in results.get("files", []):
        row, reference = sizes["lossy"]
        for way, word in (("out", "protect"), ("back", "bring back")):
            base = sizes[way][0]
            bars = [(one.name, one.ratio(base), one.wall) for one in sizes[way]]
            if way == "back":
                bars.append((row.name, row.ratio(reference), row.wall))
            groups.append((f"{size(sizes['size'])}, {word}", bars))
    values = [value for _, bars in groups for _, value, _ in bars]
    low, high = math.floor(math.log10(min(values + [1]))), math.ceil(math.log10(max(values + [10])))
    height = 60 + sum(34 + len(bars) * (BAR + GAP) for _, bars in groups)
    right = WIDTH - 150

    def place(value):
        return LEFT + (math.log10(value) - low) / (high - low) * (right - LEFT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(LEFT, 22, "wall time as a multiple of age's; left of 1× is faster", weight="bold"),
    ]
    for power in range(low, high + 1):
        x = place(10**power)
        dash = "" if power == 0 else ' stroke-dasharray="3 4"'
        parts.append(f'<line x1="{x:.1f}" y1="46" x2="{x:.1f}" y2="{height - 8}" stroke="#cccccc"{dash}/>')
        parts.append(text(x, 40, f"{10**power:g}×", anchor="middle"))
    y = 54
    for title, bars in groups:
        y += 22
        parts.append(text(12, y - 4, title, weight="bold"))
        for name, value, wall in bars:
            start, end = sorted((place(1), place(value)))
            colour = COLOURS.get(name, OURS)
            parts.append(text(LEFT - 8, y + BAR - 5, name, anchor="end"))
            parts.append(
                f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 2):.1f}" height="{BAR}" fill="{colour}"/>')
            parts.append(text(max(end, place(1)) + 6, y + BAR - 5, f"{ratio(value)}×  ({seconds(wall)})"))
            y += BAR + GAP
        y += 12
    return "\n".join(parts + ["</svg>"]) + "\n"


def text(x, y, words, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="#222222">{escape(words)}</text>'
