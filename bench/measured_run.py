"""Runs a program, plain or profiled, and measures its process from outside, independently of
shadowprof's own numbers."""

import contextlib
import dataclasses
import json
import os
import pathlib
import resource
import select
import subprocess
import time

# Writes its process id to a descriptor, then becomes the program.
BECOME = 'echo $$ >&"$1"; eval "exec $1>&-"; shift; exec "$@"'
POLL_SECONDS = 0.02
MINOR_FAULTS = 9  # index of the field in /proc/PID/stat


@dataclasses.dataclass
class Run:
    seconds: float          # from the program's exec to its end, or as it measured itself
    whole_seconds: float    # duration of the command
    off_seconds: float      # of the first thread off the processor, until shortly before its end
    minor_faults: int       # faults of the program until shortly before its end
    cpu_seconds: float      # processor time of the command and its children
    profile: dict | None


def minor_faults(pid):
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return int(text.rpartition(")")[2].split()[MINOR_FAULTS - 2])
    return None


def off_seconds(pid, began):
    """Returns how long the first thread, started at `began`, was not on a processor."""
    with contextlib.suppress(OSError):
        on_ns = int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        return time.perf_counter() - began - on_ns / 1e9
    return None


def watch(pid, began):
    """Returns the moment at which a process ends, and its faults and off_seconds() shortly
    before."""
    faults, off = 0, 0.0
    descriptor = os.pidfd_open(pid)
    try:
        while not select.select([descriptor], [], [], POLL_SECONDS)[0]:
            faults = minor_faults(pid) or faults
            off = off_seconds(pid, began) or off
        return time.perf_counter(), minor_faults(pid) or faults, off
    finally:
        os.close(descriptor)


def read_profile(path):
    return json.loads(pathlib.Path(path).read_text())


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, folder, profiler=(), profile_path=None, seconds_path=None, environment=None):
    """Runs `command` under `profiler`, a command that runs the words that follow it. A program that
    measures its own time writes it to `seconds_path`. `environment` replaces this process's."""
    reader, writer = os.pipe()
    cpu_before = children_cpu_seconds()
    start = time.perf_counter()
    words = [*map(str, profiler), "sh", "-c", BECOME, "sh", str(writer), *map(str, command)]
    process = subprocess.Popen(words, cwd=folder, pass_fds=[writer], env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    os.close(writer)
    with open(reader, encoding="ascii") as line:
        pid = int(line.readline())
    began = time.perf_counter()
    ended, faults, off = watch(pid, began)
    if process.wait() != 0:
        raise RuntimeError(f"{words} ended with {process.returncode}")
    profile = read_profile(profile_path) if profile_path else None
    seconds = float(pathlib.Path(seconds_path).read_text()) if seconds_path else ended - began
    return Run(seconds, time.perf_counter() - start, off, faults,
               children_cpu_seconds() - cpu_before, profile)
