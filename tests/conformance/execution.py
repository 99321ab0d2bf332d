"""Runs one command in the way of all conformance runs: alone in a session and a folder, for a
limited time, and without leaving anything behind."""

import contextlib
import ctypes
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import TAG, tagged_processes  # noqa: E402

PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
# For reading the outputs of a process that has ended.
JOIN_SECONDS = 10
STATE, PARENT, SESSION = 0, 1, 3  # Indexes of fields of /proc/PID/stat, behind the command.


@dataclasses.dataclass
class Limits:
    """A run that takes longer than `run_seconds` hangs; a process that survives it longer than
    the grace time is left behind. The limits are generous, because machines are busy."""

    run_seconds: float
    grace_seconds: float


@dataclasses.dataclass
class Outcome:
    """The outcome of a run. `faults` are sentences about things that no run may do."""

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    faults: list


def adopt_orphans():
    """Makes processes that lose their parent our children, so that they can be found and reaped.
    The name of an init tells shadowprof that we reap all children, so that it can fork what it
    attaches to."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NAME, b"init", 0, 0, 0)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def stat_fields(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return None


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return "?"


def survivors(session, tag):
    """Returns the ids of live processes of a session or with its tag. Reaps zombies that came to
    us."""
    alive = set()
    members = {int(entry) for entry in os.listdir("/proc") if entry.isdigit()}
    tagged = set(tagged_processes(tag))
    for pid in members:
        fields = stat_fields(pid)
        if fields is None or (int(fields[SESSION]) != session and pid not in tagged):
            continue
        if fields[STATE] not in "ZX":
            alive.add(pid)
        elif int(fields[PARENT]) == os.getpid():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    return alive


def kill_all(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def strays(session, tag, grace_seconds):
    """Kills the processes that survive a run, and returns their names."""
    end = time.monotonic() + grace_seconds
    left = survivors(session, tag)
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left = survivors(session, tag)
    if not left:
        return []
    names = ", ".join(sorted(name_of(pid) for pid in left))
    kill_all(left)
    survivors(session, tag)
    return [f"left processes behind: {names}"]


class Run:
    """A command that was started. It runs in a folder of its own, which is also its TMPDIR."""

    def __init__(self, command, standard_input=None, pass_fds=()):
        self.folder = tempfile.mkdtemp(prefix="run-")
        self.tag = uuid.uuid4().hex
        self.began = time.monotonic()
        environment = dict(os.environ, TMPDIR=self.folder, SHADOWPROF_OPTIONS="", **{TAG: self.tag})
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment, start_new_session=True, pass_fds=pass_fds,
            stdin=subprocess.DEVNULL if standard_input is None else subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._outputs = {}
        self._threads = [threading.Thread(target=self._drain, args=(name,), daemon=True)
                         for name in ("stdout", "stderr")]
        if standard_input is not None:
            self._threads.append(threading.Thread(target=self._feed, args=(standard_input,)))
        for thread in self._threads:
            thread.start()

    def _drain(self, name):
        with getattr(self.process, name) as stream:
            self._outputs[name] = stream.read()

    def _feed(self, text):
        with contextlib.suppress(BrokenPipeError), self.process.stdin as stream:
            stream.write(text)

    def end(self):
        """Kills all of its processes."""
        kill_all(survivors(self.process.pid, self.tag) | {self.process.pid})

    def finish(self, limits):
        """Waits until the run ends, at most for the limit. Returns its Outcome."""
        faults = []
        try:
            status = self.process.wait(max(0, self.began + limits.run_seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            faults.append(f"hangs: it did not end within {limits.run_seconds:g} s")
            self.end()
            status = self.process.wait()
        seconds = time.monotonic() - self.began
        faults += strays(self.process.pid, self.tag, limits.grace_seconds)
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
        left = sorted(os.listdir(self.folder))
        if left:
            faults.append(f"left files behind: {', '.join(left)}")
        shutil.rmtree(self.folder)
        return Outcome(status, self._outputs.get("stdout", b""), self._outputs.get("stderr", b""),
                       seconds, faults)
