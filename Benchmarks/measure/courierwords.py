"""The words of docs/benchmarks/courier.md. Numbers in them come from the runs."""

METHOD = """# Parcels that people carry

Made by `Benchmarks/courier` with seed {seed} on {date}: {runs} runs, {minutes} minutes of computing ({machine}). All of it is on virtual time: the
same seed gives the same numbers on any machine. `courier.csv` has what the tables are made from. The machine was busy with other work; the last table comes from a run of its own.

A simulation of who meets whom; what each device then decides is what the library `Courier` decides, unchanged. Sealing, signing, radios
and servers' protocols take no part.

- **People.** {people} live in 400 homes in a square of 5 km, and work at 58 places. They move by random waypoint (Johnson and Maltz, 1996), but most
  waypoints are their own: to work at about 8, back at about 17; some days an errand at noon or in the evening to anywhere, or an evening
  at one of 30 places that all share. Between them at 1 to 6 m/s. Nobody lives or works outside, all days are alike, and nobody goes away for a night.
- **Meetings.** Two devices within 30 m of each other, looked at every 20 s, so that some passing ones are missed. {meetings} meetings in three days, {each} a day for
  each person, most of them with the same people. They exchange when they meet, and once an hour while they stay together: at most 50 kB for each second of that.
- **Network.** One tower for each square kilometre, down for 12 hours and then up for half an hour, on average; 30 % of the people have a device that can
  use it. A device with a network leaves what it carries at a server and fetches what is for it.
- **Parcels.** The first day teaches devices whom they meet. On the second, {sent} parcels are sent by half of the people, each to anybody: 70 % of 2 KiB (a text, a request for a
  share), 25 % of 64 KiB, 5 % of 1 MiB. Each lasts for a day. Room on devices is the default, 64 MiB, of which strangers, and here everybody is one, get half.
- **Droppers** take whatever they are given to carry, say truly how likely they would deliver it, and drop it. They send and receive like others.
- **Epidemic routing** (Vahdat and Becker, 2000): whoever meets gives everything that the other hasn't had, without limits but the radio's. It is what the
  fastest possible carriers could do. **Directly**: the sender meets the recipient, or both reach the server.

Carriers are those that the sender gives a parcel to. With one hop they give it to nobody but the recipient or the server; with more, each of them hands it on to up to two
others that are likelier to meet the recipient, and so on. All numbers are of one world. Of {sent} parcels a part is uncertain by about two points (one standard deviation),
besides what another world would change."""

DELIVERY = """## What arrives

Parts of all parcels that arrived before they expired, and in brackets within six hours."""

DELAY = """## How long it takes

Parts of all parcels that arrived within six hours, in the picture; in the table, with nobody dropping, median and 90 % of those that arrived: where
little arrives, only the easy ones do."""

BYTES = """## What it costs

With nobody dropping, for each parcel that was sent: how often it went over the radio, its bytes, and all that devices said besides (ids, offers, replies and receipts)."""

ALONE = """## Without any network

The same, but no tower ever works: parcels (within six hours)."""

CHOICES = """## What was chosen by this

Five carriers, three hops, nobody drops. *Patience*: how long a sender waits, for each of its carriers, for one that is likelier than itself to meet the recipient, before
it takes anybody. *Handed on to*: how many better carriers each carrier gives a parcel to."""

AFTER_CHOICES = """Waiting for long loses parcels and saves few bytes: carriers correct a bad choice by handing on. Ten minutes make no difference that can be told from chance, so the
library's patience is none. One better carrier instead of two saves nearly half of the bytes and loses a tenth of the parcels; four bring some more for twice the bytes.

How much a server counts was found the same way: at first, reaching one counted as much as meeting the recipient, of whom most never reach it. Carriers then gave parcels to those with a
network rather than to those who meet the recipient, and with one carrier and two or three hops more arrived where there was no network than where there was one. So a server counts a quarter, and a carrier's last place is for one that meets the recipient."""

LEARNING = """## Carriers that never deliver

Seven days, 20 senders, {learned} parcels that last for a day each, five carriers, three hops, and 30 % of the people drop everything. *Places* are the five that a sender has for each parcel."""

LIMITS = """## What this doesn't show

- **How people really move.** In a town without weekends, journeys, crowds, or groups that never meet, where everybody's day leads through a handful of offices, what is met once
  is met again, which flatters any estimate from past meetings. Real traces (Reality Mining, Cambridge/Haggle) have more short meetings and longer gaps. That ways compare as they do here is likelier
  to hold elsewhere than any of the parts.
- **Everybody carries.** All 1,000 have the program, and it runs at all hours. With one in twenty, meetings between them are four hundred times as rare.
- **Radios.** Finding each other, connecting, interference and collisions cost nothing, range is a sharp circle through walls, and 50 kB/s is more than Bluetooth LE
  gives in a crowd. No battery runs out.
- **Who is known.** Whoever has met the recipient recognises its tag. Where carriers don't know the recipient, they are as good as their way to a server, and that part of the choice falls away.
- **Load.** Some hundred megabytes in all: no device was full, so fairness when it is, and the limits of a day, are shown by tests and not here.
- **Liars with a plan.** Droppers here drop everything. Those that deliver just enough, that are many devices each, or that wait where a recipient lives, aren't simulated;
  what each can do at most is written at `Courier`.
- **Chance.** One seed for each number."""


def part(run, field="arrived"):
    return 100 * int(run[field]) / int(run["sent"])


def find(runs, carriers, hops, droppers="0.000"):
    for run in runs:
        if (run["method"], run["carriers"], run["hops"], run["droppers"]) == ("courier", str(carriers), str(hops), droppers):
            return run
    return None


def after_delivery(runs):
    full, one = find(runs, 5, 3), find(runs, 5, 1)
    if not full or not one:
        return ""
    words = (f"Hops do more than carriers: five carriers that only wait for the recipient bring {part(one):.0f} %, and {part(full):.0f} % if they may hand on twice. "
             f"The paper's own design, five carriers that deliver when they have a network or meet the recipient, is the row of five with one hop.")
    bad = find(runs, 5, 3, "0.300")
    if bad:
        words += (f" With 30 % dropping everything, five carriers and three hops still bring {part(bad):.0f} %: that there are several ways is what helps; "
                  "with one carrier each dropper is the end of its parcels but for the sender's own way.")
    return words


def after_delay(runs):
    full = find(runs, 5, 3)
    epidemic = next((run for run in runs if run["method"] == "epidemic" and run["droppers"] == "0.000"), None)
    if not full or not epidemic:
        return ""
    return (f"Carriers are slow: within six hours {part(full, 'within_6h'):.0f} % arrive by five carriers and three hops, {part(epidemic, 'within_6h'):.0f} % by epidemic routing. "
            f"It takes {int(epidemic['median_s']) / 3600:.1f} h in the median and {int(epidemic['p90_s']) / 3600:.1f} h for 90 %. Most of any of these times is night, and waiting for "
            "the next working day.")


def after_bytes(runs):
    full = find(runs, 5, 3)
    epidemic = next((run for run in runs if run["method"] == "epidemic" and run["droppers"] == "0.000"), None)
    if not full or not epidemic:
        return ""
    ratio = int(epidemic["bytes"]) / max(1, int(full["bytes"]))
    each = int(epidemic["bytes"]) / int(epidemic["sent"]) / 1e6
    return (f"Epidemic routing moves {each:.1f} MB for each parcel sent, {int(epidemic['copies']) / int(epidemic['sent']):.0f} copies: {ratio:.0f} times as much as five carriers and three hops. What is said besides comes from every meeting, "
            f"whether or not something is given: {int(full['spoken']) / 3e9:.2f} MB a day for each device at five carriers and three hops.")


def after_learning(runs):
    rows = {(run["lies"], run["records"]): run for run in runs if run["method"] == "courier"}
    if len(rows) < 4 or not all(run["dropper_last"] for run in rows.values()):
        return ""
    true, lying = rows["no", "yes"], rows["yes", "yes"]
    first = (f"Liars cost more than droppers that tell the truth: {part(lying):.0f} % arrive instead of {part(true):.0f} %. They don't get more of the sender's places, but those at carriers, which "
             "hand on to whoever says that it is likelier. That is the largest weakness seen here, and receipts don't mend it: carriers don't learn from them.\n\n")
    return first + (f"Going by receipts, senders give droppers {100 * float(true['dropper_last']):.0f} % of the places in the last third if they tell the truth, and {100 * float(lying['dropper_last']):.0f} % if they lie; "
            f"without receipts {100 * float(rows['no', 'no']['dropper_last']):.0f} % and {100 * float(rows['yes', 'no']['dropper_last']):.0f} %. That is little. A carrier is shunned when it should have brought two parcels by what "
            "others bring, which takes ten to twenty that it was given; a sender with sixty parcels and twenty carriers gets that far only towards the end. Each sender learns it for itself.")
