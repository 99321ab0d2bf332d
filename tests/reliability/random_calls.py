#!/usr/bin/env python3
"""Makes the same random system calls natively and in exact mode, and compares what they return and
what they leave in memory.

tests/reliability/random_calls.py [--build-dir DIR] [--seeds FIRST-LAST] [--calls N]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

EXACT = ["run", "-q", "--mode=exact", "-o", "/dev/null", "--"]


def run(command, tells_from=None):
    """Returns the output, and the lines that tell each call if it is to tell them."""
    words = command if tells_from is None else [*command, str(tells_from)]
    with tempfile.TemporaryFile() as told:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=told, check=False)
        told.seek(0)
        lines = told.read().decode(errors="replace").splitlines()
    return (done.returncode, done.stdout), lines


def first_difference(plain, profiled):
    """Returns the first call that was told differently."""
    (_, expected), (_, found) = run(plain, 0), run(profiled, 0)
    for wanted, had in zip(expected, found):
        if wanted != had:
            return f"natively: {wanted}; here: {had}"
    return f"{len(expected)} lines natively, {len(found)} here, alike as far as both go"


def compare(options, seed):
    """Returns whether a run in exact mode was as a native one."""
    victim = str(options.build_dir / "tests/victims/random_calls")
    plain = [victim, str(seed), str(options.calls)]
    profiled = [str(options.build_dir / "src/cli/shadowprof"), *EXACT, *plain]
    expected, found = run(plain)[0], run(profiled)[0]
    if expected == found:
        return True
    print(f"seed {seed}: {expected} natively, {found} here; "
          f"{first_difference(plain, profiled)}", file=sys.stderr)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--seeds", default="1-10")
    parser.add_argument("--calls", type=int, default=10000)
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    begin = time.monotonic()
    differed = sum(not compare(options, seed) for seed in seeds)
    print("| seeds | calls | seconds | runs that differed |\n|---|---|---|---|")
    print(f"| {first} to {last or first} | {len(seeds) * options.calls} | "
          f"{time.monotonic() - begin:.0f} | {differed} |")
    return 1 if differed else 0


if __name__ == "__main__":
    sys.exit(main())
