#!/usr/bin/env python3
"""Attaches to one process and lets it go, again and again, and counts what that leaves behind.

tests/reliability/cycles.py [--build-dir DIR] [--cycles N] [--threads N] [option for attach...]
"""
import argparse
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import processes  # noqa: E402


def growth(before, after, what):
    return len(after[what]) - len(before[what])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", default="build", type=pathlib.Path)
    parser.add_argument("--cycles", default=1000, type=int)
    parser.add_argument("--threads", default=2, type=int)
    options, for_attach = parser.parse_known_args()
    for_attach = for_attach or ["--max-samples=2", "--duration=5s"]
    victim = subprocess.Popen([str(options.build_dir / "tests/victims/checksum"),
                               str(options.threads), "0"], stdout=subprocess.PIPE)
    processes.wait_for(lambda: len(processes.threads(victim.pid)) == options.threads + 1,
                       "the victim's threads")
    before = processes.settled_facts(victim.pid)
    failed = changed = 0
    start = time.monotonic()
    for _ in range(options.cycles):
        failed += subprocess.run([str(options.build_dir / "src/cli/shadowprof"), "attach", "-q",
                                  "-o", "/dev/null", *for_attach, str(victim.pid)]).returncode != 0
        changed += processes.facts(victim.pid) != before
    seconds = time.monotonic() - start
    after = processes.facts(victim.pid)
    victim.terminate()
    unharmed = victim.stdout.read().startswith(b"checksum: unharmed") and victim.wait() == 0
    print("| cycles | seconds | failed | cycles after which anything differed | mappings | "
          "descriptors | children | target |")
    print("|---|---|---|---|---|---|---|---|")
    print(f"| {options.cycles} | {seconds:.0f} | {failed} | {changed} | "
          f"{growth(before, after, 'mappings'):+} | {growth(before, after, 'descriptors'):+} | "
          f"{growth(before, after, 'children'):+} | {'unharmed' if unharmed else 'HARMED'} |")
    return 0 if unharmed and not failed and not changed else 1


if __name__ == "__main__":
    sys.exit(main())
