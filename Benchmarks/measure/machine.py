"""What is measured on, in words that fit any machine."""

import datetime
import os
import shutil


def roomy(bytes_needed):
    """A folder whose file system is in memory, so that no disk takes part; otherwise the usual one for temporary files."""
    memory = "/dev/shm"
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > bytes_needed and available_memory() > 1.5 * bytes_needed:
        return memory
    return None


def available_memory():
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def load():
    """How many others wanted to compute within the last minutes."""
    return os.getloadavg()[1]


def describe(folder):
    cores = len(os.sched_getaffinity(0))
    kind = "a file system in memory" if folder.startswith("/dev/shm") else "a disk, page cache warm"
    return {
        "date": datetime.date.today().isoformat(),
        "text": f"{cores} core{'s' if cores > 1 else ''} ({model()}), {system()}, {kind}",
        "cores": cores,
    }


def model():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return os.uname().machine


def system():
    with open("/etc/os-release") as file:
        for line in file:
            if line.startswith("PRETTY_NAME="):
                return line.split("=", 1)[1].strip().strip('"')
    return os.uname().sysname
