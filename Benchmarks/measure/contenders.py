"""What is compared: each contender takes a file to where it is protected, and back, as whole processes."""

import glob
import json
import os
import re
import shutil

from . import process


class Contender:
    """Protects a file (``out``) and brings it back (``back``). ``name`` names it in the table."""

    name = ""
    # Programs of others that it needs.
    programs = ()

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def clear(self, *names):
        """Removes what an earlier run has left, outside the time that is measured."""
        for name in names:
            path = self.path(name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.remove(path)

    def out(self, file):
        raise NotImplementedError

    def back(self):
        raise NotImplementedError

    def result(self):
        """Where ``back`` has put the file, to compare it with what was given."""
        return self.path("back")

    def finish(self):
        shutil.rmtree(self.folder)


class Cat(Contender):
    name = "cat"

    def out(self, file):
        self.clear("copy")
        return process.run(["cat", file], stdout=self.path("copy"))

    def back(self):
        self.clear("back")
        return process.run(["cat", self.path("copy")], stdout=self.path("back"))


class Age(Contender):
    name = "age"
    programs = ("age", "age-keygen")

    def __init__(self, folder):
        super().__init__(folder)
        process.run(["age-keygen", "-o", self.path("key")])
        with open(self.path("key")) as file:
            self.recipient = re.search(r"public key: (age1\w+)", file.read()).group(1)

    def out(self, file):
        self.clear("sealed")
        return process.run(["age", "-r", self.recipient, "-o", self.path("sealed"), file])

    def back(self):
        self.clear("back")
        return process.run(["age", "-d", "-i", self.path("key"), "-o", self.path("back"), self.path("sealed")])


class Gfshare(Contender):
    name = "gfshare"
    programs = ("gfsplit", "gfcombine")

    def __init__(self, folder, threshold, count):
        super().__init__(folder)
        self.threshold = threshold
        self.count = count

    def out(self, file):
        self.clear(*map(os.path.basename, self.shares()))
        # The threshold is checked against the number that was given before it.
        return process.run(["gfsplit", "-m", str(self.count), "-n", str(self.threshold), file, self.path("share")])

    def back(self):
        self.clear("back")
        return process.run(["gfcombine", "-o", self.path("back"), *self.shares()[: self.threshold]])

    def shares(self):
        return sorted(glob.glob(self.path("share.*")))


class Ssss(Contender):
    """For a line of up to 128 characters; the secret goes in and comes out as a line of text, the result on standard error."""

    name = "ssss"
    programs = ("ssss-split", "ssss-combine")

    def __init__(self, folder, threshold, count):
        super().__init__(folder)
        self.threshold = threshold
        self.count = count

    def out(self, file):
        arguments = ["ssss-split", "-t", str(self.threshold), "-n", str(self.count), "-Q"]
        return process.run(arguments, stdin=file, stdout=self.path("shares"))

    def back(self):
        with open(self.path("shares")) as file:
            lines = [line for line in file if "-" in line]
        with open(self.path("some"), "w") as file:
            file.writelines(lines[: self.threshold])
        arguments = ["sh", "-c", 'exec ssss-combine -t "$0" -q 2>"$1"', str(self.threshold), self.path("back")]
        return process.run(arguments, stdin=self.path("some"))


class Pipeline(Contender):
    """The program's own encrypting, hashing and dispersing without peers, and back without the fragments that need no
    decoding. What it waits for the disk at the end is taken off: none of the others waits for that."""

    name = "vault, no peers"

    def __init__(self, folder, program, threshold, count):
        super().__init__(folder)
        self.program = program
        self.threshold = threshold
        self.count = count

    def out(self, file):
        self.clear("fragments")
        return self.measured("share", file, self.path("fragments"), str(self.threshold), str(self.count))

    def back(self):
        self.clear("back")
        lost = ",".join(str(number + 1) for number in range(min(2, self.threshold, self.count - self.threshold)))
        return self.measured("recover", self.path("fragments"), self.path("back"), "--without", lost)

    def measured(self, *arguments):
        run = process.run([self.program, *arguments])
        said = json.loads(run.output)
        run.wall -= said["durable"] - said["processed"]
        run.peak = said["peak_mib"]
        return run


class Vault(Contender):
    """``vault share`` and ``vault recover`` with daemons on loopback."""

    name = "vault, loopback"

    def __init__(self, folder, group, threshold):
        super().__init__(folder)
        self.group = group
        self.threshold = threshold
        self.id = None

    def out(self, file):
        self.forget()
        run = self.daemons(self.group.arguments("dealer", "share", file, "--threshold", str(self.threshold), "--json"))
        self.id = json.loads(run.output)["id"]
        return run

    def back(self):
        self.clear("back")
        return self.daemons(self.group.arguments("dealer", "recover", self.id, "-o", self.path("back")))

    def daemons(self, arguments):
        self.group.reset()
        run = process.run(arguments)
        run.daemon_cpu = self.group.cpu()
        run.daemon_peak = self.group.peak()
        return run

    def forget(self):
        """Deletes what is stored, so that the disk does not fill up."""
        if self.id is None:
            return
        for name in ["dealer", *self.group.daemons]:
            process.run(self.group.arguments(name, "secret", "delete", self.id, "--yes"), accepted=(0, 1))
        self.id = None

    def finish(self):
        self.forget()
        super().finish()
