"""The words of docs/benchmarks/lifecycle.md. Numbers in them come from the runs."""

TITLE = """# Is a secret still there after ten years, when devices are lost?

Made by `Benchmarks/lifecycle` with seed {seed}: {circles} circles of each kind, five minutes of computing on two
cores. The same seed gives the same numbers on any machine. `lifecycle.csv` has what tables and pictures are made
from."""

QUESTION = """Five people hold a secret, any three can open it, and ten years pass, day by day. When a device is
lost, its share is lost with it. Three ways to go on are compared, on the same losses:"""

WAYS = """- **Nothing.** Nobody cares for lost shares.
- **Resharing.** Once a month the owner looks. If a share is missing, three friends give theirs, the owner's device
  rebuilds the key, and all get shares of a new sharing. Each time the key lies whole on one device.
- **Redistribution.** Friends put the new device in the old one's place, three of them deal, and everybody takes over a
  share of a new record ([formats/lifecycle.md](../formats/lifecycle.md)). The key is never put together."""

LOST = """## How often is the secret lost?

Lost means that no sharing has three shares left, also counting those that absent people can still take over."""

LIVE = """## How long are shares missing, and what is done about it?

*Fewer than five* is the part of the ten years in which no sharing had all five shares on devices: the mean, and in
brackets what one circle in twenty exceeds. Somebody away counts as a holder of the old sharing until back. *A gap*
lasts until all five hold again: the median, and what one in twenty exceeds; gaps that never end are left out."""

TAKEN = """## How often does a thief get enough?

One adversary collects lost devices and can read every one of them. It has won with three shares of one sharing."""

PACE = """## What if people are quicker or slower?

Each cell: secrets lost within ten years, the part of the time with fewer than five shares, and how often an
adversary with every lost device gets three."""

LEAVE = """## What if people leave?

At {middle} of the devices a year. Who leaves counts as a lost device. After a month it is known, and after one to
six more months somebody else has the place. An owner who has left reshares nothing any more."""

MEANING = """## What does it mean?

With nobody caring, three of five isn't enough for ten years: at {middle} of the devices a year {nothing} of the
secrets are lost. Handing shares on brings that down to {handed}, resharing to {reshared}; but resharing puts the
key together {rebuilt} times on the way, and ends with its owner. How fast people answer decides more than which of
the two they choose: handing on loses {quick} with quick people, {slow} with slow ones. An adversary with every lost
device gets enough in {taken} of the circles instead of {bare}, for shares of a sharing that all others have erased
are worth nothing."""

ASSUMPTIONS = """## What is assumed?"""

DEVICES = """**Devices.** Each is lost on any day with the same chance, in a year {rates}. What is published about
phones lies between and around these."""

SOURCES = [
    ("stolen within a year", "0.9 % of owners of mobile phones (2016/17), 2.1 % at most (2008/09)",
     "Office for National Statistics, Crime Survey for England and Wales, "
     "[as reported in 2017](https://www.expressandstar.com/news/uk-news/2017/12/06/"
     "thefts-of-mobile-phones-fall-to-lowest-level-for-a-decade/)"),
    ("lost or stolen ever", "31 % of owners of mobile phones",
     "Pew Research Center, *Privacy and Data Management on Mobile Devices*, 2012, "
     "[as reported](https://www.cbsnews.com/news/survey-as-cell-phone-use-rises-so-do-concerns-over-privacy/)"),
    ("broken or failed within a year", "11.7 % to 16.9 % of smartphones, by maker",
     "SquareTrade, [*Smart Phone reliability*](https://vi.scribd.com/document/44274441/Smartphones-Comparacion), 2010: "
     "50,000 phones under its own contracts"),
    ("failed within a year", "1.57 % of hard disks in 2024",
     "Backblaze, [*Drive Stats for Q3 2025*](https://www.backblaze.com/blog/backblaze-drive-stats-for-q3-2025/)"),
    ("kept", "29 months: 41 of 100 phones are replaced in a year",
     "Reviews.org, 2025, [as reported](https://secondarymarket.news/blog/"
     "americans-are-keeping-their-smartphones-longer-than-ever-before/)"),
    ("backed up", "29 % of owners of smartphones",
     "Consumer Reports, [*State of the Net*](https://prnewswire.com/news-releases/"
     "consumer-reports-31-million-smart-phones-were-stolen-in-2013-"
     "nearly-double-the-year-before-255611901.html), 2014"),
    ("stolen, of what is lost or stolen for good", "3.1 of 4.5 million",
     "the same"),
    ("looked into by finders", "48 of 50 phones left lying about, without a passcode",
     "Symantec, *Smartphone Honey Stick Project*, 2012, [as reported](https://readwrite.com/"
     "what_we_do_when_we_find_someone_elses_cell_phone/)"),
    ("still in somebody's network after seven years", "48 % of its members: 10 % leave in a year",
     "Mollenhorst, Utrecht, 2009, [as reported](http://www.standaard.be/cnt/dmf20090429_026)"),
    ("died within a year", "0.15 % to 0.25 % at 40, 0.8 % to 1.2 % at 60",
     "US Social Security Administration, period life table, "
     "[as taught](https://www.sophia.org/tutorials/the-following-table-is-from-the-social-security-actuarial-tables)"),
]

READING = """So {low} is a device that is well kept and moved with care, {middle} one that breaks or goes astray as
phones do, and {high} one that is replaced every two or three years by somebody who often forgets to move the vault.
For leaving, 2 % is a chosen circle that mostly death and quarrels part, and 10 % any circle of friends. Most
devices that are lost are broken and at home; that one adversary gets a quarter of them is meant to be too much, and
all of them a bound."""

PEOPLE = """**People.** We know of nobody who has measured how friends answer such questions. These numbers are
guesses, and so they are varied."""

RULES = """**Changes.** A proposal is over after 31 days; if three haven't dealt by then, another one is made. A new
device has its share the day after the third dealing, somebody away when back. Devices that are lost while it is
asked wait for the next change. Old shares are erased when READYs of all rows are there and the device's own person
has said yes; who never answers keeps an old share until the next change. Resharing follows the same rules and the
same answers, but nobody is asked before old shares are deleted."""

LIMITS = """## What doesn't this show?

- **Losses that come together.** A fire, a journey of all five, an update that breaks every phone: here each device is
  lost by itself, and each day is like any other. Families and colleagues are not like that.
- **Moving a vault.** Who moves it to the next phone, or restores a backup, hasn't lost a device. How many do is hidden
  in the rate.
- **Lies.** Nobody cheats a friend into putting a false card in a lost one's place, no dealer deals badly, and no READY
  lies. The [model](../../Model/README.md) and tests are about these.
- **Reading a device.** Stolen devices are open here. A vault with a passphrase isn't.
- **Boxes, backups and kept shares** of an older sharing, which help an adversary as well as friends.
- **Habits.** The same person answers quickly one time and never the next. In life it is the same one who never
  does.
- **The program.** Rules are simulated, not the code; that the code follows them is what tests are for."""
