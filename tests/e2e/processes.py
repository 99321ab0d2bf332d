"""What /proc says of a process that is to stay as it was."""

import contextlib
import os
import pathlib
import time

SIGNAL_FIELDS = ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt")


def status_of(pid, tid=None):
    """{field: text} of /proc/PID/status, or of one thread's."""
    folder = f"/proc/{pid}" if tid is None else f"/proc/{pid}/task/{tid}"
    lines = pathlib.Path(folder, "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def threads(pid):
    return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))


def other_threads(pid):
    """All but the first: thread ids are given out anew from the smallest, so that this can have any
    place among them."""
    return [tid for tid in threads(pid) if tid != pid]


def command(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def state(pid):
    """R, S, T, ..., or X for a process that is gone."""
    try:
        return status_of(pid)["State"][0]
    except FileNotFoundError:
        return "X"


def tracer(pid):
    """0: nobody traces it, or it is gone."""
    try:
        return int(status_of(pid)["TracerPid"])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def children(pid):
    return sorted(int(child) for tid in threads(pid)
                  for child in pathlib.Path(f"/proc/{pid}/task/{tid}/children").read_text().split())


def stat_fields(folder):
    """Of /proc/PID/stat, behind the command."""
    return pathlib.Path(folder, "stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pid, tid=None):
    """Of the process, or of one of its threads."""
    fields = stat_fields(f"/proc/{pid}" if tid is None else f"/proc/{pid}/task/{tid}")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_time(pid):
    """In clock ticks since the machine was started."""
    return int(stat_fields(f"/proc/{pid}")[19])


def syscall(pid, tid):
    """The number of the call in which a thread sleeps, else None."""
    first = pathlib.Path(f"/proc/{pid}/task/{tid}/syscall").read_text().split()[0]
    return int(first) if first.isdigit() else None


def descendants(pid):
    """The process, its children, theirs, and so on."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            found += children(each)
    return found


def descriptors(pid):
    """{number: what it is}."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
    return found


def mappings(pid):
    """The mappings without the stack and the heap, which grow by themselves."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [line for line in lines if not line.endswith(("[stack]", "[heap]"))]


def facts(pid):
    """All that a profiler must leave as it was."""
    per_thread = {tid: {field: status_of(pid, tid)[field]
                        for field in (*SIGNAL_FIELDS, "TracerPid")} for tid in threads(pid)}
    return {"mappings": mappings(pid), "descriptors": descriptors(pid),
            "children": children(pid), "threads": per_thread}


def settled(look):
    """What `look()` says when it says nothing else any more."""
    known, times = look(), 0
    while times < 5:
        time.sleep(0.05)
        now = look()
        times = times + 1 if now == known else 0
        known = now
    return known


def settled_facts(pid):
    """The facts of a process that has just started: when it changes nothing any more."""
    return settled(lambda: facts(pid))


def wait_for(condition, what, seconds=120):
    """For what is certain to come; generous, for machines that are busy."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)
