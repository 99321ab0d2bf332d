#!/usr/bin/env python3
"""Attaches to one process and lets it go, again and again, and counts what is left behind.

tests/reliability/cycles.py [--build-dir DIR] [--count N] [--target NAME...] [option for attach...]
"""
import argparse
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import processes  # noqa: E402

# Name: command, threads, the signal that ends it, the output that it must have.
TARGETS = {
    "single": (["checksum", "1", "0"], 2, signal.SIGTERM, b"checksum: unharmed"),
    "threads": (["handover", "8", "0"], 9, signal.SIGTERM, b"handover: unharmed"),
    # Asleep in read(2) and epoll_wait(2): a line on standard input ends it.
    "idle-read": (["blocked", "read"], 1, None, b"ready\nwhole\n"),
    "idle-epoll": (["blocked", "epoll"], 1, None, b"ready\nwhole\n"),
}
KINDS = ("mappings", "descriptors", "children", "threads")


def start(build_dir, command, threads):
    target = subprocess.Popen([str(build_dir / "tests/victims" / command[0]), *command[1:]],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    processes.wait_for(lambda: len(processes.threads(target.pid)) == threads, "its threads")
    return target, processes.settled_facts(target.pid)


def ends_unharmed(target, ending, expected):
    if ending is not None:
        target.send_signal(ending)
    try:
        output, _ = target.communicate(None if ending else b"x", timeout=60)
    except subprocess.TimeoutExpired:
        target.kill()
        target.communicate()
        return False
    return target.returncode == 0 and output.startswith(expected)


def describe(before, after):
    """Returns what differs, for finding the reason."""
    return {kind: (before[kind], after[kind]) for kind in KINDS if before[kind] != after[kind]}


def measure(options, name, for_attach):
    """Prints a row. Returns whether nothing was left and nobody was harmed."""
    command, threads, ending, expected = TARGETS[name]
    target, before = start(options.build_dir, command, threads)
    failed = changed = 0
    begin = time.monotonic()
    for cycle in range(options.count):
        failed += subprocess.run([str(options.build_dir / "src/cli/shadowprof"), "attach", "-q",
                                  "-o", "/dev/null", *for_attach, str(target.pid)]).returncode != 0
        now = processes.facts(target.pid)
        if now != before:
            changed += 1
            print(f"cycle {cycle}: {describe(before, now)}", file=sys.stderr)
    seconds = time.monotonic() - begin
    after = processes.facts(target.pid)
    unharmed = ends_unharmed(target, ending, expected)
    growth = " | ".join(f"{len(after[kind]) - len(before[kind]):+}" for kind in KINDS)
    print(f"| {name} | {options.count} | {seconds:.0f} | {failed} | {changed} | {growth} | "
          f"{'unharmed' if unharmed else 'HARMED'} |", flush=True)
    return unharmed and not failed and not changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", default="build", type=pathlib.Path)
    parser.add_argument("--count", default=1000, type=int, help="of cycles, for each target")
    parser.add_argument("--target", choices=TARGETS, action="append")
    options, for_attach = parser.parse_known_args()
    for_attach = for_attach or ["--max-samples=2", "--duration=300ms"]
    print("| target | cycles | seconds | failed | cycles after which anything differed | "
          "mappings | descriptors | children | threads | target afterwards |")
    print("|" + "---|" * 10, flush=True)
    results = [measure(options, name, for_attach) for name in options.target or TARGETS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
