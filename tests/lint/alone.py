#!/usr/bin/env python3
"""Does each file compile by itself? In unity builds a file can use what its neighbours include.

    tests/lint/alone.py FOLDER    FOLDER is configured by meson, for clang, without unity

clang reads every file as FOLDER would compile it, and generates no code. All library headers are
precompiled together, so a file that does not include one of them passes; a build with -Dunity=off
-Db_pch=false finds that.
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
# Library headers that most files include, or that take long to read.
PRECOMPILED = """algorithm array atomic bit bitset charconv chrono cmath compare concepts
    condition_variable cstddef cstdint cstdio cstdlib cstring deque filesystem fstream functional
    initializer_list iterator limits list map memory mutex new numeric optional random set span
    sstream string string_view system_error thread tuple type_traits unordered_map unordered_set
    utility variant vector Zydis/Zydis.h doctest/doctest.h fmt/format.h fmt/ranges.h
    nlohmann/json.hpp""".split()
# Options that name outputs or affect only the generated code.
RESULTS = re.compile(r"-(?:c|MD|O\d|g\d?|fPIC|pthread|fcolor-diagnostics)")
RESULT_OF = {"-o", "-MQ", "-MF"}


def flags_of(command):
    """Returns the words of a compiler's command line without the options for outputs. The file
    is the last word."""
    words = iter(shlex.split(command))
    flags = []
    for word in words:
        if word in RESULT_OF:
            next(words)
        elif not RESULTS.fullmatch(word):
            flags.append(word)
    return flags


def common_flags(commands):
    """Returns the flags that all commands share, without include folders: a precompiled header
    must match these."""
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
