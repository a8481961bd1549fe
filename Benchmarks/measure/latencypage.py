"""The page docs/benchmarks/latency.md."""

import math

from . import boxes
from .boxes import quantile

# Milliseconds that the server may add, in the median.
LIMIT = 5

LABELS = {
    "session": "directly, in an open session",
    "server": "through the server",
    "plain": "through the server, a plain text",
    "vault session": "directly, in an open session",
    "vault server": "through the server",
    "meeting": "directly, in a meeting",
    "carrier": "by a carrier: two meetings",
    "daemon": "through the server, by daemons",
}
COLOURS = {"session": 0, "server": 1, "plain": 2, "vault session": 0, "vault server": 1, "meeting": 0, "carrier": 3, "daemon": 1}
GROUPS = [
    ("The links alone", ["session", "server", "plain"]),
    ("From vault to vault, durable at each stop", ["vault session", "vault server", "meeting", "carrier", "daemon"]),
]
# What is compared with what, and why.
COMPARISONS = [
    ("the links: a sealed parcel through the server, and directly", "server", "session", True),
    ("from vault to vault: through the server, and directly", "vault server", "vault session", True),
    ("as the paper has it: through the server a sealed parcel, and a plain text", "server", "plain", False),
    ("opening a session and meeting, and an open session", "meeting", "vault session", False),
    ("by a carrier, and meeting the recipient", "carrier", "meeting", False),
]


def page(times, facts):
    """The page and its picture."""
    count = len(next(iter(times.values())))
    out = [*head(count, facts), "", "![box plot](latency.svg)", ""]
    for name, ways in GROUPS:
        out += [f"## {name}", "", "Milliseconds.", "", "| way | median | quartiles | 5 % to 95 % | least, most |", "|---|---|---|---|---|"]
        for way in ways:
            values = times[way]
            out.append(f"| {LABELS[way]} | {ms(quantile(values, 0.5))} | {ms(quantile(values, 0.25))} – {ms(quantile(values, 0.75))}"
                       f" | {ms(quantile(values, 0.05))} – {ms(quantile(values, 0.95))} | {ms(min(values))}, {ms(max(values))} |")
        out += [""]
    out += [*comparisons(times), "", *READING]
    groups = [(name, [(LABELS[way], times[way], COLOURS[way]) for way in ways]) for name, ways in GROUPS]
    note = "milliseconds, on a scale of powers of ten; box: quartiles and median; lines: 5 % to 95 %; dots: what lies beyond"
    return "\n".join(out).rstrip() + "\n", boxes.picture(f"Latency of {count} messages each way", note, groups)


def head(count, facts):
    machine = facts["machine"]
    others = facts["others"]
    lines = [
        "# How long a message takes", "",
        f"Made by `make bench-latency` on {machine['date']}, in one run: {machine['text']}. Everybody is on this one machine and its loopback: the server, both of its",
        f"clients, and all vaults, which are in one process. {count} messages of {facts['bytes']} letters each way, one at a time, each way once in every round, in an order drawn anew,",
        f"a round each {facts['pause'] / 1000:g} seconds; each waits until what follows the one before, receipts and the server's archive, is done. `latency.csv` has all of them. The load before the run was {facts['load']:.1f}.",
    ]
    if others is not None:
        lines.append(f"Other programs used {100 * others:.0f} % of the cores' time meanwhile.")
        if others > 0.1:
            lines[-1] += " **The machine was busy with other work**: times are too long, those through the server most of all, which is a process that has to\nwait for a core at each step, and the longest ones say nothing."
    return lines + ["", *METHOD]


METHOD = [
    "Figure 6 of the paper on CarrierPigeon is a box plot of how long standard and relayed messages take through ejabberd, with both clients on the server's host; the text gives no numbers but",
    "“a few milliseconds of overhead”, which is less than the usual variation. Its module rewrites at the server what a carrier hands in. Here nothing at a server is changed, and",
    "nobody has to trust it: what the recipient has to know of the sender is inside the seal. What is left of the question is what the detour through the server takes, and what one by a carrier does.", "",
    "- **ejabberd** is Debian's, with the settings that the tests use (`Tests/ChatServers/Servers/ejabberd.yml`): STARTTLS, SCRAM, its own database, archive on. Both accounts are connected.",
    "- **The links alone.** From the order to send a sealed parcel until the recipient has opened it and checked its signature; nothing is stored. A plain text: until the recipient's program has it.",
    "- **From vault to vault.** From the order to send a text, which is sealed, signed and made durable at the sender, until it is opened, checked and durable at the recipient. Receipts go back",
    "  after that, and aren't measured. An open session and the open connections to the server differ in the link alone. The program has no session open beforehand: a *meeting* connects,",
    "  shakes hands, proves cards, and asks who has what. *By a carrier* is two meetings, the second one begun when the first has ended.",
    "- **By daemons** is the program's own service at both ends: it looks five times a second for what there is to send, and most of its time is that. A carrier's daemon meets others when it sees",
    "  them or notices that it has something, which takes seconds, and people take hours: see [courier.md](courier.md).",
]


def comparisons(times):
    out = [
        "## What the detours cost", "", "Milliseconds in the same round: the median of all differences, with an interval that holds it with 95 %, and the median of all ratios.", "",
        "| | median of differences | | median of ratios | at most |", "|---|---|---|---|---|",
    ]
    for words, one, other, isLimited in COMPARISONS:
        differences = [a - b for a, b in zip(times[one], times[other])]
        ratios = [a / b for a, b in zip(times[one], times[other])]
        middle = quantile(differences, 0.5)
        low, high = interval(differences)
        verdict = ""
        if isLimited:
            verdict = f"{LIMIT} ms: " + ("met" if middle <= LIMIT else f"**missed by {middle - LIMIT:.1f} ms**")
        out.append(f"| {words} | {ms(middle)} | {ms(low)} – {ms(high)} | {quantile(ratios, 0.5):.2f} | {verdict} |")
    return out


def interval(values):
    """Ranks between which the median lies with 95 %, whatever the distribution."""
    ordered = sorted(values)
    half = 0.98 * math.sqrt(len(ordered))
    low = max(0, math.floor(len(ordered) / 2 - half))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + half))
    return ordered[low], ordered[high]


def ms(value):
    words = f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"
    return words.replace("-", "−")


READING = [
    "Loopback hides what a real network adds to both: a message through a server goes two ways instead of one. No radio takes part; what Bluetooth LE takes is in [bluetooth.md](bluetooth.md).",
]
