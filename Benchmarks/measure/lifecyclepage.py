"""docs/benchmarks/lifecycle.md, from what came of the circles."""

import textwrap

from . import circle, lifecyclewords, lines

PACES = {
    "quick": ("3", "3", "none", "0 %"),
    "usual": ("14", "14", "1 in 10", "10 %"),
    "slow": ("30", "30", "3 in 10", "20 %"),
}


def page(rows, seed):
    """The page, and its pictures by file name."""
    usual = [row for row in rows if row["pace"] == "usual" and not row["leaving"]]
    rates = sorted({row["loss"] for row in rows})
    facts = {"seed": seed, "circles": f"{rows[0]['circles']:,}", "rates": ", ".join(map(percent, rates)),
             "low": percent(rates[0]), "middle": percent(rates[1]), "high": percent(rates[-1]),
             **meaning(rows, rates[1])}
    words = {name: wrapped(text.format(**facts)) for name, text in vars(lifecyclewords).items()
             if name.isupper() and isinstance(text, str)}
    out = [words["TITLE"], "", words["QUESTION"], "", lifecyclewords.WAYS, "", words["LOST"], "",
           "![lost](lifecycle-lost.svg)", "", *losses(usual), "", uncertain(rows[0]["circles"]), "",
           words["LIVE"], "", *care(usual), "", words["TAKEN"], "", "![taken](lifecycle-taken.svg)", "",
           *thefts(usual), "",
           words["PACE"], "", *paces(rows), "", words["LEAVE"], "", *leavers(rows, rates[1]), "", words["MEANING"], "",
           words["ASSUMPTIONS"], "", words["DEVICES"], "", *sources(), "", words["READING"], "", words["PEOPLE"], "",
           *manners(), "", words["RULES"], "", lifecyclewords.LIMITS]
    return "\n".join(out).rstrip() + "\n", pictures(usual, rates)


def wrapped(text):
    paragraphs = text.split("\n\n")
    return "\n\n".join(textwrap.fill(one.replace("\n", " "), 120, break_long_words=False, break_on_hyphens=False)
                       for one in paragraphs)


def percent(part):
    """With enough digits that little isn't nothing."""
    value = 100 * part
    if value == 0 or abs(value - round(value)) < 1e-9:
        return f"{value:.0f} %"
    return f"{value:.2f} %" if value < 1 else f"{value:.1f} %"


def part(row, name, year=circle.YEARS):
    return percent(row[f"{name}_{year}"] / row["circles"])


def only(rows, **wanted):
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


def meaning(rows, rate):
    def of(method, pace="usual"):
        return only(rows, loss=rate, method=method, pace=pace, leaving=0.0)

    handed, bare = of("redistribution"), of("nothing")
    return {"nothing": part(bare, "lost"), "handed": part(handed, "lost"), "reshared": part(of("resharing"), "lost"),
            "rebuilt": f"{of('resharing')['rebuilt']:.1f}", "taken": part(handed, "taken_1"),
            "bare": part(bare, "taken_1"),
            "quick": part(of("redistribution", "quick"), "lost"), "slow": part(of("redistribution", "slow"), "lost")}


def table(head, cells):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in cells)]


def losses(rows):
    years = (1, 2, 5, circle.YEARS)
    head = ["devices lost a year", "way", *(f"lost within {year} year{'s' * (year > 1)}" for year in years)]
    return table(head, [[percent(row["loss"]), row["method"], *(part(row, "lost", year) for year in years)]
                        for row in rows])


def uncertain(circles):
    half = 100 * 1.96 * (0.25 / circles) ** 0.5
    return wrapped(f"By chance a number may be off by {half:.1f} points, small ones by less (95 %). The rows of "
                   "*nothing* are checked against the binomial distribution, which needs no simulation.")


def care(rows):
    head = ["devices lost a year", "way", "key put together", "changes", "of them complete", "fewer than five",
            "fewer than four", "a gap, in days"]
    cells = []
    for row in rows:
        gap = f"{row['gap_median']} ({row['gap_most']})" if row["gap_median"] else "never ends"
        cells.append([percent(row["loss"]), row["method"], times(row["rebuilt"]), times(row["changes"]),
                      times(row["completed"]), missing(row, 5), missing(row, 4), gap])
    return table(head, cells)


def missing(row, live):
    return f"{percent(row[f'below_{live}'])} ({percent(row[f'below_{live}_most'])})"


def times(number):
    return f"{number:.1f} times" if number else "never"


def thefts(rows):
    head = ["devices lost a year", "way", "a quarter of the lost devices", "every lost device"]
    return table(head, [[percent(row["loss"]), row["method"], part(row, "taken_0.25"), part(row, "taken_1")]
                        for row in rows])


def paces(rows):
    chosen = [row for row in rows if not row["leaving"] and row["method"] != "nothing"]
    kinds = sorted({(row["loss"], row["method"]) for row in chosen}, key=lambda kind: (kind[0], kind[1] != "resharing"))
    cells = []
    for rate, method in kinds:
        found = [only(chosen, loss=rate, method=method, pace=pace) for pace in PACES]
        cells.append([percent(rate), method, *(brief(row) for row in found)])
    return table(["devices lost a year", "way", *(f"{pace} people" for pace in PACES)], cells)


def brief(row):
    return f"{part(row, 'lost')}, {percent(row['below_5'])}, {part(row, 'taken_1')}"


def leavers(rows, rate):
    chosen = [row for row in rows if row["loss"] == rate and row["pace"] == "usual"]
    chosen.sort(key=lambda row: row["leaving"])
    head = ["people who leave in a year", "way", "lost within 10 years", "key put together", "fewer than five",
            "every lost device taken: three shares"]
    return table(head, [[percent(row["leaving"]), row["method"], part(row, "lost"), times(row["rebuilt"]),
                         percent(row["below_5"]), part(row, "taken_1")] for row in chosen])


def sources():
    return table(["", "figure", "source"], lifecyclewords.SOURCES)


def manners():
    head = ["people", "days until a loss is noticed and cards are exchanged, at most", "days until a yes, mean",
            "questions never answered", "time away, in pieces of one to six months"]
    return table(head, [[pace, *words] for pace, words in PACES.items()])


def pictures(rows, rates):
    def charts(name):
        result = []
        for rate in rates:
            drawn = {}
            for row in (row for row in rows if row["loss"] == rate):
                counts = [0, *(row[f"{name}_{year}"] for year in range(1, circle.YEARS + 1))]
                drawn[row["method"]] = [(year, 100 * count / row["circles"]) for year, count in enumerate(counts)]
            result.append((f"{percent(rate)} of the devices lost a year", drawn, {}))
        return result

    return {
        "lifecycle-lost.svg": lines.panels("Secrets that are lost", "years", charts("lost"), top=100),
        "lifecycle-taken.svg": lines.panels(
            "Circles of which an adversary with every lost device has three shares of one sharing", "years",
            charts("taken_1"), top=100),
    }
