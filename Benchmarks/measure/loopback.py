"""Vaults on this machine: homes in a folder, daemons on loopback, cards exchanged."""

import os
import signal
import subprocess
import time

from . import process


class Group:
    """A dealer and its peers. Each peer's daemon runs until ``stop``; only dealer and peers know one another, as sharing
    and recovering ask for no more."""

    def __init__(self, vault, folder, count):
        self.vault = vault
        self.folder = folder
        os.makedirs(folder)
        self.names = ["dealer"] + [f"peer{number:03}" for number in range(1, count)]
        self.daemons = {}
        self.watched = {}
        for name in self.names:
            self.call(name, "init", "--label", name, "--no-passphrase")
        for name in self.names[1:]:
            self.start(name)
        dealer = self.call("dealer", "id", "--text").strip()
        for name in self.names[1:]:
            self.call("dealer", "peer", "add", self.call(name, "id", "--address", self.address(name), "--text").strip())
            self.call(name, "peer", "add", dealer)

    def home(self, name):
        return os.path.join(self.folder, name)

    def arguments(self, name, *arguments):
        return [self.vault, *arguments, "--home", self.home(name), "--quiet"]

    def call(self, name, *arguments):
        return process.run(self.arguments(name, *arguments)).output

    def start(self, name, again=False):
        """Starts a daemon; ``again`` at the address that its peers know."""
        listen = self.address(name) if again else "127.0.0.1:0"
        with open(self.log(name), "wb") as log:
            daemon = subprocess.Popen(
                [self.vault, "daemon", "--listen", listen, "--home", self.home(name)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.daemons[name] = daemon
        self.address(name)
        self.watched[name] = process.Watched(daemon.pid)

    def log(self, name):
        return os.path.join(self.folder, name + ".log")

    def address(self, name):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with open(self.log(name)) as log:
                for line in log:
                    if line.startswith("listening on ") and line.endswith("\n"):
                        return line.split()[-1]
            if name not in self.daemons or self.daemons[name].poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError(f"the daemon of {name} does not listen")

    def pause(self, names):
        """Ends daemons, so that nobody answers for these peers."""
        for name in names:
            self.daemons[name].kill()
            self.daemons[name].wait()
            del self.daemons[name]
            del self.watched[name]

    def reset(self):
        for watched in self.watched.values():
            watched.reset()

    def cpu(self):
        return sum(watched.cpu() for watched in self.watched.values())

    def peak(self):
        return max(watched.peak() for watched in self.watched.values())

    def stop(self):
        for daemon in self.daemons.values():
            daemon.send_signal(signal.SIGKILL)
        for daemon in self.daemons.values():
            daemon.wait()
        self.daemons = {}
        self.watched = {}
