"""The parts of a comparison, and how much of each a run does."""

import filecmp
import json
import os
import shutil
import sys

from . import process
from .contenders import Age, Cat, Gfshare, Pipeline, Ssss, Vault
from .loopback import Group

ALL = ["files", "many", "start", "micro", "daemon"]
THRESHOLD, COUNT = 3, 5


class Plan:
    """What is done, by the options of the command line."""

    def __init__(self, given):
        self.vault = os.path.abspath(given.vault)
        self.benchmarks = os.path.abspath(given.benchmarks)
        self.only = given.only.split(",") if given.only else ALL
        if given.smoke:
            sizes, self.runs, self.starts, self.many_peers, self.seconds = "1000,2000000", 1, 3, False, 0.01
        elif given.quick:
            sizes, self.runs, self.starts, self.many_peers, self.seconds = "1000,10000000", 3, 20, False, 0.2
        else:
            sizes, self.runs, self.starts, self.many_peers, self.seconds = "1000,10000000,1073741824", 5, 40, True, 1
        self.sizes = [int(size) for size in (given.sizes or sizes).split(",")]
        self.runs = given.runs or self.runs
        if given.smoke or given.quick:
            self.loads = {
                "sessions": ["--secrets", "20", "--sessions", "40"],
                "memory": ["--peers", "20", "--deposits", "4", "--mebibytes", "1"],
                "list": ["--secrets", "500", "--runs", "1"],
            }
        else:
            self.loads = {"sessions": [], "memory": [], "list": []}
        # A secret among many takes some of the contenders long.
        self.many = (16, 31) if given.smoke else (128, 255)
        self.may_leave_out = given.smoke

    def runs_of(self, size):
        """A small file is soon done, and what it takes varies more."""
        return self.runs * 4 if size < 1 << 20 else self.runs

    def room(self):
        """Bytes of disk: all copies, shares and fragments of the largest file at once."""
        return max(self.sizes) * 22 + (1 << 28)

    def missing(self):
        """Programs that can't be done without."""
        programs = [self.vault, self.tool("pipeline-bench"), self.tool("micro-bench")]
        if not self.may_leave_out:
            programs += [program for contender in (Age, Gfshare, Ssss) for program in contender.programs]
        return [program for program in programs if shutil.which(program) is None]

    def present(self, contender):
        return all(shutil.which(program) for program in contender.programs)

    def tool(self, name):
        return os.path.join(self.benchmarks, name)


def run(plan, folder):
    results = {}
    parts = {"files": files, "many": many, "start": start, "micro": micro, "daemon": daemon}
    for name in plan.only:
        found = parts[name](plan, os.path.join(folder, name))
        if found is not None:
            results[name] = found
    return results


def say(text):
    print(text, file=sys.stderr, flush=True)


def random_file(path, size):
    """Random bytes, in pieces: the file is larger than this script may be, which would show in what it measures."""
    with open("/dev/urandom", "rb") as source, open(path, "wb") as target:
        while size > 0:
            size -= target.write(source.read(min(size, 1 << 20)))
    return path


# MARK: Files


def files(plan, folder):
    os.makedirs(folder)
    group = Group(plan.vault, os.path.join(folder, "homes"), COUNT)
    try:
        tables = [one_size(plan, folder, group, size) for size in plan.sizes]
        for table in tables:
            lossy(plan, folder, group, table)
        return tables
    finally:
        group.stop()


def one_size(plan, folder, group, size):
    say(f"{size} bytes, {THRESHOLD} of {COUNT}")
    file = random_file(os.path.join(folder, "file"), size)
    contenders = [Age(os.path.join(folder, "age"))] if plan.present(Age) else []
    contenders.append(Cat(os.path.join(folder, "cat")))
    if plan.present(Gfshare):
        contenders.append(Gfshare(os.path.join(folder, "gfshare"), THRESHOLD, COUNT))
    contenders += [
        Pipeline(os.path.join(folder, "pipeline"), plan.tool("pipeline-bench"), THRESHOLD, COUNT),
        Vault(os.path.join(folder, "vault"), group, THRESHOLD),
    ]
    table = rounds(contenders, file, plan.runs_of(size))
    table["size"] = size
    os.remove(file)
    return table


def rounds(contenders, file, count):
    """All contenders in turn, again and again, so that what slows the machine down for a while slows down all."""
    for contender in contenders:
        with open(file, "rb") as source:
            while source.read(1 << 20):
                pass
    out = [process.Row(contender.name) for contender in contenders]
    back = [process.Row(contender.name) for contender in contenders]
    for number in range(count):
        for contender, row in zip(contenders, out):
            row.add(contender.out(file))
        for contender, row in zip(contenders, back):
            row.add(contender.back())
            if number == 0 and not same(file, contender.result()):
                raise RuntimeError(f"{contender.name} brought something else back")
    for contender in contenders:
        contender.finish()
    return {"out": out, "back": back}


def same(file, result):
    """Whether they are alike. Those that carry lines of text may add an end of line or words before."""
    if filecmp.cmp(file, result, shallow=False):
        return True
    if os.path.getsize(file) > 200:
        return False
    with open(file, "rb") as left, open(result, "rb") as right:
        return left.read().strip() in right.read()


def lossy(plan, folder, group, table):
    """Recovery by the holders of parity alone, two of three data fragments being lost: the most there is to compute."""
    file = random_file(os.path.join(folder, "file"), table["size"])
    vault = Vault(os.path.join(folder, "vault"), group, THRESHOLD)
    other = (Age if plan.present(Age) else Cat)(os.path.join(folder, "other"))
    vault.out(file)
    other.out(file)
    lost = group.names[1:THRESHOLD]
    group.pause(lost)
    row, reference = process.Row("vault, loopback, two lost"), process.Row(other.name)
    for _ in range(plan.runs_of(table["size"])):
        reference.add(other.back())
        row.add(vault.back())
    if not same(file, vault.result()):
        raise RuntimeError("vault brought something else back")
    vault.finish()
    other.finish()
    for name in lost:
        group.start(name, again=True)
    os.remove(file)
    table["lossy"] = (row, reference)


# MARK: Many holders


def many(plan, folder):
    """A small secret among many. Those who split bytes by themselves are the measure: age has no shares."""
    os.makedirs(folder)
    threshold, count = plan.many
    say(f"32 characters, {threshold} of {count}")
    file = os.path.join(folder, "file")
    with open(file, "w") as target:
        target.write(os.urandom(16).hex() + "\n")
    contenders = []
    if plan.present(Ssss):
        contenders.append(Ssss(os.path.join(folder, "ssss"), threshold, count))
    if plan.present(Gfshare):
        contenders.append(Gfshare(os.path.join(folder, "gfshare"), threshold, count))
    contenders.append(Pipeline(os.path.join(folder, "pipeline"), plan.tool("pipeline-bench"), threshold, count))
    table = rounds(contenders, file, max(1, plan.runs // 2))
    if plan.many_peers:
        say(f"{count - 1} daemons")
        group = Group(plan.vault, os.path.join(folder, "homes"), count)
        try:
            more = rounds([Vault(os.path.join(folder, "vault"), group, threshold)], file, plan.runs)
        finally:
            group.stop()
        table["out"] += more["out"]
        table["back"] += more["back"]
    table["scheme"] = plan.many
    return table


# MARK: Start


def start(plan, folder):
    """How long it takes until the program has said something, and until a note is back."""
    os.makedirs(folder)
    say("start of the programs")
    programs = ["age", plan.vault] if plan.present(Age) else [plan.vault]
    rows = [process.Row(f"{os.path.basename(program)} --version") for program in programs]
    for _ in range(plan.starts):
        for program, row in zip(programs, rows):
            row.add(process.run([program, "--version"]))
    return rows


# MARK: Parts


def micro(plan, folder):
    say("parts")
    output = process.run([plan.tool("micro-bench"), str(plan.seconds)]).output
    return [json.loads(line) for line in output.splitlines()]


def daemon(plan, folder):
    """What `daemon-load` measures: sessions a CPU second, memory with many peers, long lists."""
    if shutil.which(plan.tool("daemon-load")) is None:
        return None
    os.makedirs(folder)
    figures = []
    for measurement, numbers in plan.loads.items():
        say(f"daemon: {measurement}")
        arguments = [plan.tool("daemon-load"), measurement, "--vault", plan.vault, "--directory", folder, "--json"]
        figures += json.loads(process.run(arguments + numbers).output)
    return figures
