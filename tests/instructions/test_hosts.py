#!/usr/bin/env python3
"""The same seed makes the same cases on every host, whatever it lacks.

usage: test_hosts.py INSTRUCTION_TEST [option of it for cases that run...]
"""
import re
import subprocess
import sys

# The digest of the test suite's cases. A change to how cases are made needs a new digest here.
ZYDIS, DIGEST = "4.0", "738d52f3e86b332e"


def run(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit status {done.returncode}\n{done.stdout}")
    found = re.search(r"with Zydis (\S+) digest (\w+)", done.stdout)
    return done.stdout, found[1], found[2]


def check_hidden(hidden, *arguments):
    """Checks that hidden forms are skipped by name, and that this changes no case."""
    arguments = (*arguments, *sys.argv[2:])
    _, _, digest = run(*arguments)
    without, _, other = run(*arguments, "--without", hidden)
    if digest != other:
        sys.exit(f"{' '.join(arguments)}: --without {hidden} changes the cases")
    counts = re.search(r"not on this host: (\d+) cases, (\d+) instructions", without)
    if int(counts[1]) + int(counts[2]) == 0 or not re.search(rf" {hidden}\w* \d+ forms", without):
        sys.exit(f"{' '.join(arguments)}: {hidden} is not skipped by name:\n{without}")
    return without


def main():
    _, zydis, digest = run("--digest")
    if zydis == ZYDIS and digest != DIGEST:
        sys.exit(f"this host's cases have the digest {digest}, those of others {DIGEST}")
    check_hidden("AVX512", "--only", "vpaddd")
    without = check_hidden("AVX", "--only", "sequence", "--sequences", "300")
    if "300 sequences" not in without:
        sys.exit(f"sequences are not run without what is lacking:\n{without}")


main()
