#!/usr/bin/env python3
"""Kills shadowprof (SIGKILL) at random moments of attaching, sampling and detaching, and counts the
targets that it harms and what it leaves in them.

tests/reliability/kills.py [--build-dir DIR] [--count N] [--target NAME...] [--load X]
                           [--latest SECONDS] [--seed N] [--tracer] [--latency]

With --tracer, killed is not the process that was started, but the one that it keeps behind itself
(sp-tracer): what follows from a kill in the middle of an injected call. With --latency, its loads are
timed as often as may be, and no samples are taken.
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
import processes  # noqa: E402

# Busy programs that check their own results until SIGTERM: name, arguments, threads.
TARGETS = {
    "single": (["checksum", "1", "0"], 2),
    "threads": (["handover", "8", "0"], 9),
}
HANG_SECONDS = 60
COLUMNS = ["targets harmed", "still traced", "zombies left", "mappings left", "descriptors left",
           "threads with another signal state"]


class Victim:
    def __init__(self, build_dir, name):
        command, threads = TARGETS[name]
        program = str(build_dir / "tests/victims" / command[0])
        self.process = subprocess.Popen([program, *command[1:]], stdout=subprocess.PIPE)
        processes.wait_for(lambda: len(processes.threads(self.process.pid)) == threads,
                           "its threads")
        self.before = processes.settled_facts(self.process.pid)

    def is_let_go(self):
        """Nobody traces it and nothing that dies is still on its way."""
        pid = self.process.pid
        if processes.state(pid) in "XZ":
            return True
        return (not self.is_traced() and
                all(processes.state(child) in "XZ" for child in processes.children(pid)))

    def is_traced(self):
        pid = self.process.pid
        return any(processes.status_of(pid, tid)["TracerPid"] != "0"
                   for tid in processes.threads(pid))

    def left(self):
        """How much more it has than before, by column."""
        after = processes.facts(self.process.pid)
        more = {f"{what} left": len(after[what]) - len(self.before[what])
                for what in ("mappings", "descriptors")}
        more["zombies left"] = len(after["children"]) - len(self.before["children"])
        more["still traced"] = self.is_traced()
        more["threads with another signal state"] = sum(
            after["threads"].get(tid) != state for tid, state in self.before["threads"].items())
        return more

    def ends_unharmed(self):
        self.process.terminate()
        try:
            output, _ = self.process.communicate(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return False
        return self.process.returncode == 0 and b": unharmed" in output


def options_of_samples(options):
    if options.latency:
        return ["--profiles=latency", "--budget=50%"]
    return [f"--load={options.load}"]


def kill_once(options, name, seen):
    """Adds to `seen` what came of one kill."""
    victim = Victim(options.build_dir, name)
    left = {}
    # It ends by itself at a random moment too, so that kills hit detaches as well.
    duration = random.uniform(0, options.latest)
    profiler = subprocess.Popen([str(options.build_dir / "src/cli/shadowprof"), "attach", "-q",
                                 *options_of_samples(options),
                                 f"--duration={int(duration * 1e6)}us",
                                 "-o", "/dev/null", str(victim.process.pid)],
                                stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, options.latest))
    tracers = processes.children(profiler.pid) if processes.state(profiler.pid) != "X" else []
    for pid in tracers if options.tracer else [profiler.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    profiler.wait()
    try:
        with contextlib.suppress(AssertionError):  # what is left then is counted
            processes.wait_for(lambda: all(processes.state(pid) in "XZ" for pid in tracers),
                               "the end of the tracer", HANG_SECONDS)
            processes.wait_for(victim.is_let_go, "the end of what is left", HANG_SECONDS)
        if processes.state(victim.process.pid) not in "XZ":
            left = victim.left()
    except (FileNotFoundError, ProcessLookupError):
        pass  # it died meanwhile
    if victim.ends_unharmed():
        seen.update(left)
    else:
        seen["targets harmed"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", default="build", type=pathlib.Path)
    parser.add_argument("--count", default=100, type=int, help="of kills, for each target")
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--load", default="0.25")
    parser.add_argument("--latest", default=0.6, type=float, help="of the random moments")
    parser.add_argument("--tracer", action="store_true")
    parser.add_argument("--seed", default=None, type=int)
    parser.add_argument("--latency", action="store_true", help="time loads, take no samples")
    options = parser.parse_args()
    random.seed(options.seed)
    print("| killed | target | options | kills | " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * (4 + len(COLUMNS)), flush=True)
    harm = 0
    for name in options.target or TARGETS:
        seen = collections.Counter()
        for _ in range(options.count):
            kill_once(options, name, seen)
        print(f"| {'tracer' if options.tracer else 'shadowprof'} | {name} | "
              f"{' '.join(options_of_samples(options))} | "
              f"{options.count} | " + " | ".join(str(int(seen[what])) for what in COLUMNS) + " |",
              flush=True)
        harm += sum(seen[what] for what in COLUMNS)
    return 0 if harm == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
