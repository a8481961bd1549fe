"""Runs one process and says what it took."""

import os
import resource
import statistics
import subprocess
import time


class Run:
    """Wall and CPU seconds, peak memory in MiB, and what it printed. The peak is None where it can't be told apart from that
    of this script, which the kernel counts in until the new program begins."""

    def __init__(self, wall, cpu, peak, output):
        self.wall = wall
        self.cpu = cpu
        self.peak = peak
        self.output = output
        # Of daemons that served it, if any: CPU seconds of all, peak of the largest.
        self.daemon_cpu = None
        self.daemon_peak = None


def own_peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(arguments, environment=None, stdin=None, stdout=None, accepted=(0,)):
    """Runs to the end. Raises if the exit code is not one of those accepted."""
    source = open(stdin, "rb") if stdin else subprocess.DEVNULL
    target = open(stdout, "wb") if stdout else subprocess.PIPE
    errors = subprocess.PIPE
    began = time.perf_counter()
    process = subprocess.Popen(arguments, stdin=source, stdout=target, stderr=errors, env=environment)
    # Both pipes carry a few lines at most.
    text = process.stdout.read() if process.stdout else b""
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    for stream in (source, target, process.stdout, process.stderr):
        if hasattr(stream, "close"):
            stream.close()
    if process.returncode not in accepted:
        raise RuntimeError(f"{arguments} ended with {process.returncode}: {complaint.decode(errors='replace')}")
    peak = usage.ru_maxrss / 1024
    return Run(wall, usage.ru_utime + usage.ru_stime, peak if peak > own_peak() * 1.02 else None, text.decode(errors="replace"))


class Watched:
    """A process that goes on, such as a daemon: its CPU seconds and peak memory since the last ``reset``."""

    def __init__(self, pid):
        self.pid = pid
        self.reset()

    def reset(self):
        with open(f"/proc/{self.pid}/clear_refs", "w") as file:
            file.write("5")
        self.began = self.clock()

    def clock(self):
        # The kernel's number for the CPU clock of another process.
        return time.clock_gettime((~self.pid << 3) | 2)

    def cpu(self):
        return self.clock() - self.began

    def peak(self):
        with open(f"/proc/{self.pid}/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return 0.0


class Row:
    """All runs of one contender."""

    def __init__(self, name):
        self.name = name
        self.walls = []
        self.cpus = []
        self.peaks = []
        self.daemon_cpus = []
        self.daemon_peaks = []

    def add(self, run):
        self.walls.append(run.wall)
        self.cpus.append(run.cpu)
        for value, values in (
            (run.peak, self.peaks), (run.daemon_cpu, self.daemon_cpus), (run.daemon_peak, self.daemon_peaks)
        ):
            if value is not None:
                values.append(value)

    @property
    def wall(self):
        return statistics.median(self.walls)

    @property
    def cpu(self):
        return statistics.median(self.cpus)

    @property
    def peak(self):
        return max(self.peaks) if self.peaks else None

    @property
    def daemon_cpu(self):
        return statistics.median(self.daemon_cpus) if self.daemon_cpus else None

    @property
    def daemon_peak(self):
        return max(self.daemon_peaks) if self.daemon_peaks else None

    def ratio(self, reference):
        """Median of the ratios of runs that were made one after the other: what slows both down falls out."""
        pairs = list(zip(self.walls, reference.walls))
        return statistics.median(own / other for own, other in pairs) if pairs else None
