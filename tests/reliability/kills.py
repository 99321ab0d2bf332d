#!/usr/bin/env python3
"""Kills shadowprof (SIGKILL) at random moments of attaching, sampling and detaching, and counts the
targets that it harms and what it leaves in them.

tests/reliability/kills.py [--build-dir DIR] [--kills N] [--load X] [--latest SECONDS] [--seed N]
                           [--tracer]

With --tracer, killed is not the process that was started, but the one that it keeps behind itself.
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


class Victim:
    """A busy process that checks its own results."""

    def __init__(self, build_dir):
        self.process = subprocess.Popen([str(build_dir / "tests/victims/checksum"), "2", "0"],
                                        stdout=subprocess.PIPE)
        processes.wait_for(lambda: len(processes.threads(self.process.pid)) == 3, "its threads")
        self.before = processes.settled_facts(self.process.pid)

    def is_let_go(self):
        """Nobody traces it and nothing that dies is still on its way."""
        pid = self.process.pid
        if processes.state(pid) in "XZ":
            return True
        return (all(processes.status_of(pid, tid)["TracerPid"] == "0"
                    for tid in processes.threads(pid)) and
                all(processes.state(child) in "XZ" for child in processes.children(pid)))

    def left(self):
        """How much more it has than before, by kind."""
        after = processes.facts(self.process.pid)
        more = {what: len(after[what]) - len(self.before[what])
                for what in ("mappings", "descriptors", "children")}
        more["signal states"] = sum(after["threads"].get(tid) != state
                                    for tid, state in self.before["threads"].items())
        return more

    def ends_unharmed(self):
        self.process.terminate()
        output = self.process.stdout.read()
        return self.process.wait() == 0 and output.startswith(b"checksum: unharmed")


def kill_once(options, moment, left):
    """True if the target lived and was right to its end."""
    victim = Victim(options.build_dir)
    # It ends by itself at a random moment too, so that kills hit detaches as well.
    duration = random.uniform(0, options.latest)
    profiler = subprocess.Popen([str(options.build_dir / "src/cli/shadowprof"), "attach", "-q",
                                 f"--load={options.load}", f"--duration={int(duration * 1e6)}us",
                                 "-o", "/dev/null", str(victim.process.pid)],
                                stderr=subprocess.DEVNULL)
    time.sleep(moment)
    tracers = processes.children(profiler.pid) if processes.state(profiler.pid) != "X" else []
    for pid in tracers if options.tracer else [profiler.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    profiler.wait()
    try:
        processes.wait_for(lambda: all(processes.state(pid) in "XZ" for pid in tracers),
                           "the end of the tracer", 60)
        processes.wait_for(victim.is_let_go, "the end of what is left", 60)
        if processes.state(victim.process.pid) not in "XZ":
            left.update(victim.left())
    except (FileNotFoundError, ProcessLookupError):
        pass  # it died meanwhile
    return victim.ends_unharmed()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", default="build", type=pathlib.Path)
    parser.add_argument("--kills", default=100, type=int)
    parser.add_argument("--load", default="0.25")
    parser.add_argument("--latest", default=0.6, type=float, help="of the random moments")
    parser.add_argument("--tracer", action="store_true")
    parser.add_argument("--seed", default=None, type=int)
    options = parser.parse_args()
    random.seed(options.seed)
    left = collections.Counter()
    harmed = sum(not kill_once(options, random.uniform(0, options.latest), left)
                 for _ in range(options.kills))
    print("| kills | load | targets harmed | zombies left | mappings | descriptors | "
          "threads with another signal state |")
    print("|---|---|---|---|---|---|---|")
    print(f"| {options.kills} | {options.load} | {harmed} | {left['children']} | "
          f"{left['mappings']} | {left['descriptors']} | {left['signal states']} |")


if __name__ == "__main__":
    main()
