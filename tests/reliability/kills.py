#!/usr/bin/env python3
"""Kills shadowprof at random moments of attaching, sampling and detaching, and counts the harm.

The harm is targets that end or miscompute, and what is left in them. The signal is SIGKILL.

tests/reliability/kills.py [--build-dir DIR] [--count N] [--target NAME...] [--load X]
                           [--latest SECONDS] [--seed N] [--kill front|tracer|worker] [--latency]

--kill chooses the process to kill: the one that was started (front), the tracer behind it
(sp-tracer), which may die in the middle of an injected call, or the workers. With --latency, the
target's loads are timed as often as possible, and no samples are taken. The target `redis` is a
server with threads under load, which is the same for all kills.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import loaded_servers  # noqa: E402
import processes  # noqa: E402

# Busy programs that check their own results until SIGTERM: name, arguments, threads.
TARGETS = {
    "single": (["checksum", "1", "0"], 2),
    "threads": (["handover", "8", "0"], 9),
}
HANG_SECONDS = 60
SETTLE_SECONDS = 1
COLUMNS = ["targets harmed", "still traced", "zombies left", "mappings left", "descriptors left",
           "threads with another signal state"]
# The command name (comm) of an emulating process.
WORKER = "exe"


class Victim:
    """A process for one kill."""

    def __init__(self, build_dir, name):
        command, threads = TARGETS[name]
        program = str(build_dir / "tests/victims" / command[0])
        self.process = subprocess.Popen([program, *command[1:]], stdout=subprocess.PIPE)
        processes.wait_for(lambda: len(processes.threads(self.process.pid)) == threads,
                           "its threads")
        self.before = processes.settled_facts(self.process.pid)

    @property
    def pid(self):
        return self.process.pid

    def is_let_go(self):
        """Whether nobody traces the process and no replica is still ending."""
        pid = self.pid
        if processes.state(pid) in "XZ":
            return True
        return (not self.is_traced() and
                all(processes.state(child) in "XZ" for child in processes.children(pid)))

    def is_traced(self):
        pid = self.pid
        return any(processes.status_of(pid, tid)["TracerPid"] != "0"
                   for tid in processes.threads(pid))

    def left_at_last(self):
        """Returns what is left after the time that threads need to return to their own code."""
        end = time.monotonic() + SETTLE_SECONDS
        while any((left := self.left()).values()) and time.monotonic() < end:
            time.sleep(0.01)
        return left

    def left(self):
        """Returns how much more the process has than before, by column."""
        after = processes.facts(self.pid)
        more = {f"{what} left": len(after[what]) - len(self.before[what])
                for what in ("mappings", "descriptors")}
        more["zombies left"] = len(after["children"]) - len(self.before["children"])
        more["still traced"] = self.is_traced()
        more["threads with another signal state"] = sum(
            after["threads"].get(tid) != state for tid, state in self.before["threads"].items())
        return {what: max(0, count) for what, count in more.items()}

    def ends_unharmed(self):
        self.process.terminate()
        try:
            output, _ = self.process.communicate(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return False
        return self.process.returncode == 0 and b": unharmed" in output


class ServerUnderLoad(loaded_servers.Server):
    """A server with threads, and the clients that keep it busy."""

    def __init__(self):
        port = loaded_servers.free_port()
        super().__init__(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                          "--appendonly", "no", "--io-threads", "4", "--io-threads-do-reads", "yes"],
                         port)
        self.clients = subprocess.Popen(
            ["redis-benchmark", "-p", str(port), "-t", "get,set", "-c", "20", "-l", "-q"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)

    def is_well(self):
        """Whether the server runs and no client had an error, which would end the clients."""
        return self.process.poll() is None and self.clients.poll() is None

    def stop(self):
        self.clients.kill()
        self.clients.wait()
        super().stop()


class Visit(Victim):
    """One of many kills while a server is attached to. Its mappings and descriptors change by
    themselves."""

    def __init__(self, server):
        self.server = server
        self.process = server.process
        self.before = processes.facts(self.pid)

    def left(self):
        return {**super().left(), "mappings left": 0, "descriptors left": 0}

    def ends_unharmed(self):
        """A crashing server takes a moment to end."""
        time.sleep(0.1)
        return self.server.is_well()


def options_of_samples(options):
    if options.latency:
        return ["--profiles=latency", "--budget=50%"]
    return [f"--load={options.load}"]


def tracers_of(profiler):
    """Returns the process behind the one that was started, if it exists."""
    return processes.children(profiler.pid) if processes.state(profiler.pid) != "X" else []


def workers_of(tracers):
    """Returns the emulating processes: children of the tracer that execute our program."""
    found = []
    for tracer in tracers:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += [pid for pid in processes.children(tracer)
                      if processes.command(pid).startswith(WORKER)]
    return found


def kill(which, profiler, tracers):
    victims = {"front": lambda: [profiler.pid], "tracer": lambda: tracers,
               "worker": lambda: workers_of(tracers)}[which]()
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(victims) > 0


def kill_once(options, victim, seen):
    """Adds the outcome of one kill to `seen`. Returns False if the process to kill did not
    exist."""
    left = {}
    # shadowprof also ends by itself at a random moment, so that kills hit detaches as well.
    duration = random.uniform(0, options.latest)
    profiler = subprocess.Popen([str(options.build_dir / "src/cli/shadowprof"), "attach", "-q",
                                 *options_of_samples(options),
                                 f"--duration={int(duration * 1e6)}us",
                                 "-o", "/dev/null", str(victim.pid)],
                                stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, options.latest))
    tracers = tracers_of(profiler)
    killed = kill(options.kill, profiler, tracers)
    profiler.wait()
    try:
        with contextlib.suppress(AssertionError):  # what is left then is counted
            processes.wait_for(lambda: all(processes.state(pid) in "XZ" for pid in tracers),
                               "the end of the tracer", HANG_SECONDS)
            processes.wait_for(victim.is_let_go, "the end of what is left", HANG_SECONDS)
        if processes.state(victim.pid) not in "XZ":
            left = victim.left_at_last()
    except (FileNotFoundError, ProcessLookupError):
        pass  # the process died meanwhile
    if victim.ends_unharmed():
        seen.update(left)
    else:
        seen["targets harmed"] += 1
    return killed


def kill_often(options, name, seen):
    """Kills until `count` kills have hit."""
    server = ServerUnderLoad() if name == "redis" else None
    try:
        hits = 0
        while hits < options.count:
            try:
                victim = Visit(server) if server else Victim(options.build_dir, name)
                hits += kill_once(options, victim, seen)
            except FileNotFoundError:  # the server dies of the last kill, thread by thread
                if not server:
                    raise
                seen["targets harmed"] += 1
                server.process.wait(HANG_SECONDS)
            if server and not server.is_well():
                server.stop()
                server = ServerUnderLoad()
    finally:
        if server:
            server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", default="build", type=pathlib.Path)
    parser.add_argument("--count", default=100, type=int, help="of kills, for each target")
    parser.add_argument("--target", choices=[*TARGETS, "redis"], action="append",
                        help="[single, threads]")
    parser.add_argument("--load", default="0.25")
    parser.add_argument("--latest", default=0.6, type=float, help="of the random moments")
    parser.add_argument("--kill", choices=["front", "tracer", "worker"], default="front")
    parser.add_argument("--seed", default=None, type=int)
    parser.add_argument("--latency", action="store_true", help="time loads, take no samples")
    options = parser.parse_args()
    random.seed(options.seed)
    print("| killed | target | options | kills | " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * (4 + len(COLUMNS)), flush=True)
    harm = 0
    for name in options.target or TARGETS:
        seen = collections.Counter()
        kill_often(options, name, seen)
        print(f"| {options.kill} | {name} | {' '.join(options_of_samples(options))} | "
              f"{options.count} | " + " | ".join(str(int(seen[what])) for what in COLUMNS) + " |",
              flush=True)
        harm += sum(seen[what] for what in COLUMNS)
    return 0 if harm == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
