"""docs/benchmarks/courier.md, from the lines of courier-simulation."""

from . import courierwords, lines


def page(runs, worlds, seed, machine):
    """The page, and its pictures by file name."""
    tables = {name: [run for run in runs if run["table"] == name] for name in ("outages", "alone", "choices", "learning")}
    outages, alone = tables["outages"], tables["alone"]
    world = worlds["outages"]
    people = f"{int(world['people']):,}"
    took = sum(float(run["seconds"]) for run in runs)
    facts = {
        "seed": seed, "date": machine["date"], "people": people, "sent": f"{int(outages[0]['sent']):,}",
        "machine": machine["text"].rsplit(", ", 1)[0], "runs": len(runs), "minutes": f"{took / 60:.0f}",
        "meetings": f"{int(world['meetings']):,}",
        "each": f"{2 * int(world['meetings']) / int(world['people']) / (int(world['seconds']) / 86400):.0f}",
        "learned": f"{int(tables['learning'][0]['sent']):,}",
    }
    parts = sorted({run["droppers"] for run in outages}, key=float)
    out = [courierwords.METHOD.format(**facts), "", courierwords.DELIVERY, "", "![arrived](courier-delivery.svg)", ""]
    for part in parts:
        out += [f"{percent(part)} of the people drop everything: arrived (within six hours)", "", *grid(outages, part, arrived), ""]
        out += [comparison(outages, part), ""]
    out += [courierwords.after_delivery(outages), "", courierwords.DELAY, "", "![within six hours](courier-delay.svg)", ""]
    out += [*grid(outages, "0.000", delay), "", courierwords.after_delay(outages), ""]
    out += [courierwords.BYTES, "", "![bytes](courier-bytes.svg)", ""]
    out += [*grid(outages, "0.000", moved), "", courierwords.after_bytes(outages), ""]
    out += [courierwords.ALONE, "", *grid(alone, "0.000", arrived), "", comparison(alone, "0.000"), ""]
    out += [courierwords.CHOICES, "", *choices(tables["choices"]), "", courierwords.AFTER_CHOICES, ""]
    out += [courierwords.LEARNING.format(**facts), "", *learning(tables["learning"]), "", courierwords.after_learning(tables["learning"])]
    out += ["", courierwords.LIMITS]
    return "\n".join(out).rstrip() + "\n", pictures(outages, parts)


def courier(runs, part="0.000"):
    return [run for run in runs if run["method"] == "courier" and run["droppers"] == part]


def method(runs, name, part="0.000"):
    found = [run for run in runs if run["method"] == name]
    return next((run for run in found if run["droppers"] == part), found[0])


def percent(part):
    return f"{float(part) * 100:.0f} %"


def rate(run, field="arrived"):
    return 100 * int(run[field]) / int(run["sent"])


def arrived(run):
    return f"{rate(run):.1f} % ({rate(run, 'within_6h'):.1f} %)"


def delay(run):
    return f"{int(run['median_s']) / 3600:.1f} h, {int(run['p90_s']) / 3600:.1f} h"


def megabytes(run, field="bytes"):
    return int(run[field]) / int(run["sent"]) / 1e6


def moved(run):
    return f"{int(run['copies']) / int(run['sent']):.1f}, {megabytes(run):.2f} MB, {megabytes(run, 'spoken'):.2f} MB"


def grid(runs, part, cell):
    chosen = courier(runs, part)
    hops = sorted({int(run["hops"]) for run in chosen})
    carriers = sorted({int(run["carriers"]) for run in chosen})
    by_place = {(int(run["carriers"]), int(run["hops"])): run for run in chosen}
    out = ["| carriers | " + " | ".join(f"{hop} hop{'s' * (hop > 1)}" for hop in hops) + " |", "|---" * (len(hops) + 1) + "|"]
    for count in carriers:
        out.append(f"| {count} | " + " | ".join(cell(by_place[count, hop]) for hop in hops) + " |")
    return out


def comparison(runs, part):
    epidemic, direct = method(runs, "epidemic", part), method(runs, "direct")
    return f"Epidemic: {arrived(epidemic)}. Directly: {arrived(direct)}."


def choices(runs):
    out = ["| patience | handed on to | arrived (within six hours) | median, 90 % of what arrived | copies, bytes, said besides |",
           "|---|---|---|---|---|"]
    for run in runs:
        patience = int(run["patience"])
        words = "none" if patience == 0 else f"{patience // 60} min" if patience < 3600 else f"{patience // 3600} h"
        out.append(f"| {words} | {run['hand_on']} | {arrived(run)} | {delay(run)} | {moved(run)} |")
    return out


def learning(runs):
    out = ["| droppers say | sender goes by receipts | places that droppers got: first third | last third | arrived: first third | last third |",
           "|---|---|---|---|---|---|"]
    for run in runs:
        if run["method"] != "courier":
            continue
        says = "that they are sure to deliver" if run["lies"] == "yes" else "how likely it is, truly"
        cells = [run[name] and f"{100 * float(run[name]):.1f} %" for name in
                 ("dropper_first", "dropper_last", "arrived_first", "arrived_last")]
        out.append(f"| {says} | {run['records']} | " + " | ".join(cells) + " |")
    return out


def pictures(runs, parts):
    def charts(value, chosen, levels=True):
        result = []
        for part in chosen:
            found = courier(runs, part)
            hops = sorted({int(run["hops"]) for run in found})
            drawn = {f"{hop} hop{'s' * (hop > 1)}": sorted((int(run["carriers"]), value(run)) for run in found if int(run["hops"]) == hop)
                     for hop in hops}
            others = {"epidemic": value(method(runs, "epidemic", part)), "directly": value(method(runs, "direct"))} if levels else {}
            result.append((f"{percent(part)} drop everything", drawn, others))
        return result

    axis = "carriers that the sender gives a parcel to"
    return {
        "courier-delivery.svg": lines.panels("Parcels that arrived within a day", axis, charts(rate, parts), top=100),
        "courier-delay.svg": lines.panels(
            "Parcels that arrived within six hours", axis, charts(lambda run: rate(run, "within_6h"), parts)),
        "courier-bytes.svg": lines.panels(
            "Bytes of parcels over the radio, for each that was sent", axis, charts(megabytes, parts, levels=False), unit="MB"),
    }
