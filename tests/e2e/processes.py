"""Reads from /proc the state of a process, which a profiler must not change."""

import contextlib
import os
import pathlib
import time

SIGNAL_FIELDS = ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt")


def status_of(pid, tid=None):
    """Returns {field: text} of /proc/PID/status, or of one thread's."""
    folder = f"/proc/{pid}" if tid is None else f"/proc/{pid}/task/{tid}"
    lines = pathlib.Path(folder, "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def threads(pid):
    return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))


def other_threads(pid):
    """Returns all thread ids but the first thread's. Ids are reused from the smallest on, so the
    first thread's may have any place among them."""
    return [tid for tid in threads(pid) if tid != pid]


def command(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def state(pid):
    """Returns R, S, T and so on, or X for a process that is gone."""
    try:
        return status_of(pid)["State"][0]
    except FileNotFoundError:
        return "X"


def tracer(pid):
    """Returns the tracer's process id; 0 if nobody traces the process, or if it is gone."""
    try:
        return int(status_of(pid)["TracerPid"])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def children(pid):
    return sorted(int(child) for tid in threads(pid)
                  for child in pathlib.Path(f"/proc/{pid}/task/{tid}/children").read_text().split())


def stat_fields(folder):
    """Returns the fields of /proc/PID/stat behind the command."""
    return pathlib.Path(folder, "stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pid, tid=None):
    """Returns the processor time of the process, or of one of its threads, in seconds."""
    fields = stat_fields(f"/proc/{pid}" if tid is None else f"/proc/{pid}/task/{tid}")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_time(pid):
    """Returns the start time in clock ticks since the machine was booted."""
    return int(stat_fields(f"/proc/{pid}")[19])


def syscall(pid, tid):
    """Returns the number of the system call in which a thread sleeps, else None."""
    first = pathlib.Path(f"/proc/{pid}/task/{tid}/syscall").read_text().split()[0]
    return int(first) if first.isdigit() else None


def descendants(pid):
    """Returns the process, its children, their children, and so on."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            found += children(each)
    return found


def descriptors(pid):
    """Returns {number: target of the link} of the open descriptors."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
    return found


def mappings(pid):
    """Returns the mappings without the stack and the heap, which grow by themselves."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [line for line in lines if not line.endswith(("[stack]", "[heap]"))]


def facts(pid):
    """Returns all facts that a profiler must leave unchanged."""
    per_thread = {tid: {field: status_of(pid, tid)[field]
                        for field in (*SIGNAL_FIELDS, "TracerPid")} for tid in threads(pid)}
    return {"mappings": mappings(pid), "descriptors": descriptors(pid),
            "children": children(pid), "threads": per_thread}


def settled(look):
    """Returns the result of `look()` once it does not change any more."""
    known, times = look(), 0
    while times < 5:
        time.sleep(0.05)
        now = look()
        times = times + 1 if now == known else 0
        known = now
    return known


def settled_facts(pid):
    """Returns the facts of a process that has just started, once they do not change any more."""
    return settled(lambda: facts(pid))


def wait_for(condition, what, seconds=120):
    """Waits for something that is certain to happen. The time limit is generous, because
    machines are busy."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)
