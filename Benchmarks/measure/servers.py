"""Running vault-servers."""

import os
import re
import signal
import subprocess

UNLIMITED = ["--key-rate", "0", "--address-rate", "0", "--groups-per-day", "0", "--groups", "0", "--group-shares", "10000000",
             "--group-space", "65536", "--space", "65536", "--keep-free", "0"]


class Servers:
    """So many of them on loopback, each a process with data of its own. Ended with the block."""

    def __init__(self, program, count, folder):
        self.processes = []
        self.addresses = []
        try:
            for number in range(count):
                data = os.path.join(folder, f"server{number}")
                process = subprocess.Popen(
                    [program, "--listen", "127.0.0.1:0", "--data", data, "--log-level", "error", *UNLIMITED],
                    stdout=subprocess.PIPE, text=True)
                self.processes.append(process)
            for process in self.processes:
                found = re.search(r"listening on (\S+)", process.stdout.readline())
                if not found:
                    raise RuntimeError("a vault-server did not start")
                self.addresses.append("http://" + found.group(1))
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()

    def mebibytes(self):
        """Most memory of one of them so far."""
        peaks = []
        for process in self.processes:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                peaks.append(int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) / 1024)
        return max(peaks)
