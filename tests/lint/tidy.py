#!/usr/bin/env python3
"""clang-tidy, with .clang-tidy of this tree, over a few big translation units.

    tests/lint/tidy.py               all of src/ but its unit tests
    tests/lint/tidy.py --all         the tests as well, and with clang's static analyzer: an hour
    tests/lint/tidy.py FILE.cc...    these files, each on its own

clang-tidy spends most of its time on library headers. So this script makes a file that includes all
files of a stage, and the headers are read once for all of them. meson does the same for unity
builds, which therefore have to compile.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKERS = len(os.sched_getaffinity(0))
MOST_LINES = 10_000  # for a unit: the others wait for the longest one
SLOW_CHECKS = ",".join(["clang-analyzer-*", "bugprone-forward-declaration-namespace",
                        "bugprone-incorrect-roundings", "bugprone-infinite-loop",
                        "bugprone-misplaced-widening-cast", "bugprone-not-null-terminated-result",
                        "bugprone-undelegated-constructor", "misc-misplaced-const",
                        "misc-non-copyable-objects", "misc-unconventional-assign-operator",
                        "performance-type-promotion-in-math-fn",
                        "performance-unnecessary-value-param"])
# The kernel's header of signal frames and the C library's define the same names.
ALONE = {"src/ptrace/remote/sigreturn_frame.cc"}
FLAGS = ["-std=c++20", "-D_GNU_SOURCE", '-DSHADOWPROF_VERSION="0"', '-DSYSCALL_MACROS=""',
         "-DSHADOWPROF_SANITIZED=false", '-DSHADOWPROF_BUILD_FACTS={"compiler", "none"}',
         f"-I{ROOT}/src", f"-I{ROOT}/tests", f"-I{ROOT}/tests/instructions",
         # The build checks format strings; here that would take a tenth of the time.
         "-DFMT_CONSTEVAL="]


def tracked(pattern):
    listed = subprocess.run(["git", "ls-files", "-z", pattern], cwd=ROOT, check=True,
                            capture_output=True)
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def is_test(name):
    return name.endswith("_test.cc") or "/testdata/" in name


def lines_of(name):
    return (ROOT / name).read_text().count("\n")


def units_of(names):
    """Returns lists of files of one stage each, tests separately, the longest unit first."""
    stages = collections.defaultdict(list)
    for name in names:
        folder = "/".join(name.split("/")[:2])
        stages[name if name in ALONE else (folder, is_test(name))].append(name)
    units = []
    for files in stages.values():
        share = sum(map(lines_of, files)) / -(-sum(map(lines_of, files)) // MOST_LINES)
        unit, lines = [], 0
        for name in files:
            if unit and lines >= share:
                units.append(unit)
                unit, lines = [], 0
            unit.append(name)
            lines += lines_of(name)
        units.append(unit)
    return sorted(units, key=lambda unit: -sum(map(lines_of, unit)))


def run(files, options):
    """Returns the findings in a unit, as texts of some lines each."""
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as unit:
        unit.write("".join(f'#include "{ROOT / name}"\n' for name in files))
        unit.flush()
        command = ["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy",
                   f"--header-filter={re.escape(str(ROOT))}/(src|tests)/", *options, unit.name,
                   "--", *FLAGS]
        ran = subprocess.run(command, cwd=ROOT, text=True, errors="replace", capture_output=True)
    text = ran.stdout.replace(f"{ROOT}/", "")
    findings = re.split(r"^(?=\S+:\d+:\d+: (?:error|warning):)", text, flags=re.MULTILINE)
    findings = [finding.rstrip() for finding in findings if finding.strip()]
    if ran.returncode != 0 and not findings:
        findings = [f"clang-tidy failed: {ran.stderr.strip()}"]
    return findings


def main(arguments):
    everything = arguments == ["--all"]
    if arguments and not everything:
        units = [[name] for name in arguments]
    else:
        names = tracked("src/*.cc") + (tracked("tests/*.cc") if everything else [])
        units = units_of([name for name in names if everything or not is_test(name)])
    options = [f"--checks={SLOW_CHECKS}"] if everything else []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        results = pool.map(lambda files: run(files, options), units)
        # Drops duplicates: headers are read in several units.
        findings = list(dict.fromkeys(finding for result in results for finding in result))
    if findings:
        print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
