"""The page docs/benchmarks/grouper.md."""

from .figures import NAMES, PARTS
from .report import seconds, table


def page(results):
    machine = results["machine"]
    lines = [
        "# The papers' experiments", "",
        f"Made by `{results['command']}` on {machine['date']}, in one run: {machine['text']}. The load before it was {results['load']:.1f}.",
        "*Thesis* is Li, *Developing Mobile Applications on Top of a Self-destruction System with Data Recovery* (Tsukuba, 2018), *paper* is Li and Shinjo,",
        "*Grouper: a Framework for Developing Mobile Applications using Untrusted Servers* (2017). They measured an iPhone 4s and an iPod touch over a wireless network and 30",
        "services in Tomcat on three machines. Here 30 processes of `vault-server` and the devices share one machine and its loopback, and all databases lie in memory,",
        "so that thirty providers don't wait for one disk. So only shapes can be compared. The papers print their figures without numbers; what they say of",
        "them is quoted.", "",
        "Data synchronization is marshalling, numbering, signing and the device's own database; secret sharing is sharing, encryption, dispersal and the way back; network is",
        "the rest: waiting for servers and for what they do. Each is the median of all rounds. R² says how well a straight line through the sums fits: 1 is a straight line.", "",
    ]
    for figure in results["figures"]:
        lines += section(figure)
    if "equations" in results:
        lines += equations(results["equations"]) + long_runs(results)
    return "\n".join(lines).rstrip() + "\n"


# What the papers say came out, and where.
SAID = {
    "Figure 6.1 of the thesis":
        "“As the number of messages increased, the data synchronization and secret sharing time increased linearly. The networking time increased slowly and sometimes"
        " decreased. On the whole, the total processing time increased linearly. Compared with uploading messages, downloading messages required more processing time.”",
    "Figure 6.2(a) of the thesis":
        "“As n increased, the processing time of uploading and downloading increased linearly.”",
    "Figure 6.2(b) of the thesis":
        "“As k increased, the processing time of uploading increased linearly and that of downloading did not change.”",
    "Figure 4 of the paper":
        "“Compared to the network time, data sync and secret sharing consumed very little time in both data sending and receiving.”",
    "Figure 5 of the paper":
        "“As the number of messages increased, data sync and secret sharing part increased linearly. The network part increased very slowly and sometimes decreased.”",
}


# Where it is otherwise here, and why. What the tables say by themselves isn't said again.
HERE = {
    "Figure 6.1 of the thesis":
        "Sums, synchronization and sharing are straight lines here, too, and so is the slowly growing network of the download, which takes up to 500 shares with one request. The network of the upload grows with the"
        " number: each share is a request of its own, acknowledged when it is durable, and without a radio there is no waiting that requests could share. So uploading is what takes longer, not downloading.",
    "Figure 6.2(a) of the thesis":
        "So it is here: what is done for each server, and what each server does, is the same for all of them.",
    "Figure 6.2(b) of the thesis":
        "Secret sharing grows in a straight line with k, in both directions: a blob carries k commitments, against which shares are checked; Shamir's scheme by itself has none. But thirty servers take so much"
        " more than that, whatever k is, that the sums grow little.",
    "Figure 4 of the paper":
        "Not here: there is no radio, and the database is durable and sealed.",
    "Figure 5 of the paper":
        "As in Figure 6.1.",
}


def section(figure):
    found = figure.rows[0][1]
    lines = [
        f"## {figure.name}: {figure.title}", "", f"![{figure.name}]({figure.file}.svg)", "", SAID[figure.name], "",
    ]
    head = [figure.axis] + [f"{way}: {name}" for way in figure.ways for name in (*NAMES, "all")]
    cells = []
    for number, (x, _) in enumerate(figure.rows):
        row = [str(x)]
        for way in figure.ways:
            row += [seconds(value) for value in figure.bars(way)[number][1]] + [seconds(figure.sums(way)[number])]
        cells.append(row)
    lines += [*table(head, cells), ""]
    if len(figure.rows) > 1:
        lines += [*table(["", "from first to last", "straight line", "R²"], shapes(figure)), ""]
    lines += [f"{figure.rounds} rounds. An object of {figure.points[0][-1]} bytes makes a signed message of {found['messageBytes']}, of which"
              f" each server gets {found['shareBytes']} bytes" + (" at the first point." if len(cells) > 1 else "."), ""]
    return [*lines, HERE[figure.name], ""]


def shapes(figure):
    """How each part and the sums grow."""
    for way in figure.ways:
        for part, name in [*enumerate(NAMES), (None, "all")]:
            slope, intercept, quality = figure.line(way, part)
            ys = figure.sums(way) if part is None else [values[part] for _, values in figure.bars(way)]
            sign = "+" if slope >= 0 else "−"
            yield [f"{way}: {name}", f"{ys[-1] / ys[0]:.1f}×", f"{seconds(abs(intercept))} {sign} {seconds(abs(slope))} each", f"{quality:.3f}"]


def equations(rows):
    lines = [
        "## How many messages: section 6.3 of the thesis", "",
        "A simulated group on virtual time, of the library's own multicast. D devices make U_i changes and C confirms each in a time to live T; F devices are offline and miss the",
        "share L/T of the changes. Uploads of a device are NU_i = U_i (1 + F L/T) + C (6.1, 6.6), of all NU = D NU_i (6.2, 6.7), and ND_i = NU is what a device downloads (6.3, 6.8) if,",
        "as the thesis assumes, it downloads its own messages and what is sent again to others, too.", "",
    ]
    head = ["", "D", "U_i", "C", "F", "L/T", "NU_i", "counted", "NU", "counted", "ND_i", "really taken, and own", "questions of a device"]
    cells = []
    for row in rows:
        given, expected, found = row["scenario"], row["expected"], row["counted"]
        cells.append(
            [given["name"], *(str(given[name]) for name in ("devices", "changes", "confirms", "offline")), f"{given['share']:g}",
             f"{expected['uploads']:,}", f"{found['uploads']:,}", f"{expected['all uploads']:,}", f"{found['all uploads']:,}",
             f"{expected['downloads']:,}", f"{found['taken']:,} + {found['own']:,}", f"{found['questions']}"])
    exact = all(row["expected"]["uploads"] == row["counted"]["uploads"]
                and row["expected"]["all uploads"] == row["counted"]["all uploads"] for row in rows)
    lines += [*table(head, cells), ""]
    lines += ["All uploads are exactly what the equations say." if exact else "**Not all uploads are what the equations say.**",
              "What they leave out are the resend messages, one for each sender of whom something is missing. With nobody offline a device takes ND_i less its own; otherwise far",
              "less than ND_i, since what was asked for goes to the asker alone.", ""]
    return lines


def long_runs(results):
    crowd, group, years = results["crowd"], results["group"], results["years"]
    reading = sum(sum(one[part] for part in PARTS) for one in group["reading"]) / len(group["reading"])
    received = (group["members"] - 1) * group["messages"]
    rows = [
        ["members, updates", f"{crowd['devices']}, {crowd['messages']:,}", f"{years['devices']}, {years['messages']:,}"],
        ["times to live that passed", f"{crowd['periods']:g}", f"{years['periods']:,.0f}"],
        ["devices offline on average (F), and how long at once (L/T)", f"{crowd['offline']:g}", f"{years['offline']:.2f}, {years['absence']:.2f}"],
    ]
    for name, key in [("messages taken from servers", "downloads"), ("delivered to applications", "delivered"), ("confirms", "confirms"),
                      ("questions", "questions"), ("updates sent again", "resent"), ("answers that all is obsolete", "skips"),
                      ("messages that one keeps in the end", "kept")]:
        rows.append([name, f"{crowd[key]:,}", f"{years[key]:,}"])
    rows += [["time that it took", seconds(crowd["seconds"]), seconds(years["seconds"])],
             ["most memory", f"{crowd['mebibytes']:.0f} MiB", f"{years['mebibytes']:.0f} MiB"]]
    return [
        "## A larger group, and a longer time", "",
        "On virtual time, every message signed and checked once. In the large group all are online. Over the long time each member is offline for about a fifth of it, for up to three times to live at",
        "once, and makes about 100 changes in a time to live, of 200 objects that are everybody's. In the end every member has every message once and in order, and the same objects.", "",
        *table(["", "a large group", "a long time"], rows), "",
        f"By equation 6.5 {years['messages'] * years['offline'] * years['absence']:,.0f} updates would have been sent again. It takes what was sent during an absence for lost, but that stays on the",
        "servers for a time to live, so that only absences of more than that lose anything; and of what is lost only the newest version of each object is sent again.", "",
        f"{group['members']} devices with databases of their own over {group['servers']} running servers, {group['messages']} updates each, f(2, 3, 3):", "",
        *table(["", ""], [
            ["until all are invited", seconds(group["setup"])],
            [f"until all {group['members'] * group['messages']:,} updates are on all servers", seconds(group["sending"])],
            [f"until one device has the {received:,} of the others", seconds(reading) + f", {seconds(reading / received)} each"],
            ["shares that a device put, and bytes", f"{group['putByOne']['puts']:,}, {group['putByOne']['putBytes']:,}"],
            ["shares that a device took, and bytes", f"{group['takenByOne']['taken']:,}, {group['takenByOne']['takenBytes']:,}"],
            ["most memory of all devices together, and of a server",
             f"{group['mebibytes']:.0f} MiB, {results['server memory']:.0f} MiB"],
        ]), "",
        f"The papers conclude that a group may have a hundred members without anybody feeling it. What one of a hundred takes while each makes a hundred changes, 9,900 messages, is"
        f" {seconds(reading / received * 9900)} of work in the background.", "",
    ]
