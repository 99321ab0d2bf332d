#!/usr/bin/env python3
"""Does each file compile by itself? In unity builds a file can use what its neighbours include.

    tests/lint/alone.py FOLDER    FOLDER is configured by meson, for clang, without unity

clang reads every file as FOLDER would compile it, and makes no code. The headers of libraries are
precompiled, all of them in one, so that a file that forgets one of those passes: a build with
-Dunity=off -Db_pch=false is what finds that.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Libraries' headers that most files include, or that take long to read.
PRECOMPILED = """algorithm array atomic bit bitset charconv chrono cmath compare concepts
    condition_variable cstddef cstdint cstdio cstdlib cstring deque filesystem fstream functional
    initializer_list iterator limits list map memory mutex new numeric optional random set span
    sstream string string_view system_error thread tuple type_traits unordered_map unordered_set
    utility variant vector Zydis/Zydis.h doctest/doctest.h fmt/format.h fmt/ranges.h
    nlohmann/json.hpp""".split()
# Options that say where results go and what code is made.
RESULTS = re.compile(r"-(?:c|MD|O\d|g\d?|fPIC|pthread|fcolor-diagnostics)")
RESULT_OF = {"-o", "-MQ", "-MF"}


def flags_of(command):
    """The words of a compiler's command line without its results; its file is the last one."""
    words = iter(shlex.split(command))
    flags = []
    for word in words:
        if word in RESULT_OF:
            next(words)
        elif not RESULTS.fullmatch(word):
            flags.append(word)
    return flags


def common_flags(commands):
    """What all of them have, but for folders of headers: a precompiled header fits no other."""
    shared = set.intersection(*(set(flags) for flags in commands))
    return [word for word in commands[0] if word in shared and not word.startswith("-I")]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[0]).resolve()
    entries = json.loads((folder / "compile_commands.json").read_text())
    commands = [flags_of(entry["command"]) for entry in entries if entry["file"].endswith(".cc")]
    with tempfile.TemporaryDirectory() as scratch:
        precompiled = f"{scratch}/libraries.pch"
        headers = pathlib.Path(f"{scratch}/libraries.h")
        headers.write_text("".join(f"#include <{name}>\n" for name in PRECOMPILED))
        subprocess.run([*common_flags(commands), "-fpch-instantiate-templates", "-x", "c++-header",
                        str(headers), "-o", precompiled], cwd=folder, check=True)

        def findings_in(flags):
            ran = subprocess.run([*flags, "-fsyntax-only", "-include-pch", precompiled],
                                 cwd=folder, text=True, errors="replace", capture_output=True)
            return ran.stderr.strip() if ran.returncode else ""

        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            findings = [text for text in pool.map(findings_in, commands) if text]
    if findings:
        print("\n".join(findings).replace(f"{ROOT}/", ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
