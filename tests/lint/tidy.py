#!/usr/bin/env python3
"""clang-tidy, with .clang-tidy of this tree, over a few big translation units.

    tests/lint/tidy.py               all of src/ but its unit tests
    tests/lint/tidy.py --all         the tests as well, and with clang's static analyzer: hours
    tests/lint/tidy.py FILE.cc...    these files, each on its own

Most of what clang-tidy does for a file it does for the headers of libraries. So files are included,
many at a time, into one that is made up here, and the headers are read once for all of them. What
two files of such a unit both declare in their anonymous namespaces, or one there and a header of
the other, would clash: such files go into different units. That is seen from the text alone, and
imperfectly. A unit that does not compile all the same is halved, down to files that do not compile
on their own.
"""

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKERS = len(os.sched_getaffinity(0))
# More than a unit for each processor costs the headers once more; fewer leave one waiting at the end.
SHARE_OF_LINES = 2 * WORKERS
SLOW_CHECKS = "clang-analyzer-*,bugprone-infinite-loop,performance-unnecessary-value-param"
FLAGS = ["-std=c++20", "-D_GNU_SOURCE", '-DSHADOWPROF_VERSION="0"', f"-I{ROOT}/src",
         f"-I{ROOT}/tests", f"-I{ROOT}/tests/instructions",
         # Format strings are checked by the build; here that would take a tenth of the time.
         "-DFMT_CONSTEVAL="]
# "struct Name", "using Name =", "Type name(", "constexpr Type name =" from the first column on.
DECLARED = re.compile(r"(?:template <.*> )?(?:(?:struct|class|union|enum class|enum) (\w+)|using (\w+) ="
                      r"|(?![ }#/]|namespace|static_assert)[^=({;\[]*?\b(\w+)(?=[=({;\[ ]*(?:[=({;\[]|$)))")
# "Type name(First first"; what has no parameters has an empty one.
FUNCTION = re.compile(r"(?![ }#/]|using|struct|class|enum)[^=({;]*?\b(\w+)\((?:([^,()]*?)\s*\b\w+(?: =.*)?(?:,.*|\).*)|.*)$")
FURTHER = re.compile(r"(?<!:)\b([a-z]\w*)(?: =|\{|\[)")  # of "constexpr int one = 1, two = 2;"


def tracked(pattern):
    listed = subprocess.run(["git", "ls-files", "-z", pattern], cwd=ROOT, check=True,
                            capture_output=True)
    names = [name for name in listed.stdout.decode().split("\0") if name]
    return [name for name in names if (ROOT / name).is_file()]


@functools.cache
def lines_of(name):
    return (ROOT / name).read_text().splitlines()


def is_test(name):
    return name.endswith("_test.cc") or "/testdata/" in name or \
        any(line.startswith("#include <doctest/") for line in lines_of(name))


class Names:
    """What a unit declares for itself.

    Overloads of a function do not clash, nor names for the same thing of the standard library.
    """

    def __init__(self):
        self.functions, self.overloads, self.aliases, self.others = set(), set(), set(), set()

    def all(self):
        return self.functions | self.others

    def hides(self, outer, called):
        """Whether something is taken for what headers declare, where these names are `called`."""
        return bool(self.others & outer or self.functions & outer & called)

    def clashes_with(self, other):
        return bool(self.overloads & other.overloads or self.others & other.all() or
                    self.functions & other.others or self.aliases & other.all() or
                    other.aliases & self.all())

    def add_all(self, other):
        self.functions |= other.functions
        self.overloads |= other.overloads
        self.aliases |= other.aliases
        self.others |= other.others


@functools.cache
def own_names(name):
    """Of the anonymous namespaces of a file, and its macros."""
    found, inside, continues = Names(), False, False
    for line in lines_of(name):
        if line == "namespace {":
            inside = True
        elif line == "}  // namespace":
            inside = False
        elif line.startswith("#define "):
            found.others.add(line.split()[1].split("(")[0])
        elif inside and line.startswith("using "):
            names = found.aliases if "std::" in line else found.others
            names.update(re.findall(r"using (?:[\w:]*::)?(\w+)(?: =.*)?;", line))
        elif inside:
            function = FUNCTION.match(line)
            declared = DECLARED.match(line)
            if function:
                found.functions.add(function[1])
                found.overloads.add(f"{function[1]}({function[2]}")
            elif declared:
                found.others.update(filter(None, declared.groups()))
            if continues or re.match(r"(constexpr|const|static|inline)\b", line) and not function:
                found.others.update(FURTHER.findall(line))
                continues = not line.endswith((";", "{"))
    return found


@functools.cache
def names_of_header(name):
    found = set()
    for line in lines_of(name):
        declared = DECLARED.match(line)
        if declared:
            found.update(filter(None, declared.groups()))
    return found


@functools.cache
def headers_of(name):
    """Those of this tree that a file includes, and what they include."""
    found, wanted = set(), [name]
    while wanted:
        for line in lines_of(wanted.pop()):
            included = re.match(r'#include "(.*)"', line)
            header = included and f"src/{included[1]}"
            if header and header not in found and (ROOT / header).is_file():
                found.add(header)
                wanted.append(header)
    return found


@functools.cache
def called_names(name):
    """Functions that a file calls and does not define for itself."""
    text = "\n".join(lines_of(name))
    return set(re.findall(r"(?<![.>:\w])(\w+)\(", text)) - own_names(name).functions


class Unit:
    def __init__(self, alone):
        self.alone = alone
        self.files, self.own, self.outer, self.called, self.lines = [], Names(), set(), set(), 0

    def has_room_for(self, name, outer, alone, most_lines):
        own, everywhere = own_names(name), self.outer | outer
        return (self.lines < most_lines and self.alone == alone and
                not self.own.clashes_with(own) and
                not self.own.hides(everywhere, called_names(name)) and
                not own.hides(everywhere, self.called))

    def add(self, name, outer):
        self.files.append(name)
        self.own.add_all(own_names(name))
        self.outer |= outer
        self.called |= called_names(name)
        self.lines += len(lines_of(name))


def units_of(names):
    most_lines = sum(len(lines_of(name)) for name in names) / SHARE_OF_LINES
    units = []
    for name in names:
        outer = set().union(*map(names_of_header, headers_of(name)))
        # The kernel's header declares again what one of the C library does, and enumerators are not
        # seen here.
        alone = any(line.startswith(("#include <asm/sigcontext.h>", "using enum"))
                    for line in lines_of(name))
        fitting = (unit for unit in units if unit.has_room_for(name, outer, alone, most_lines))
        unit = next(fitting, None)
        if unit is None:
            unit = Unit(alone)
            units.append(unit)
        unit.add(name, outer)
    units.sort(key=lambda unit: unit.lines, reverse=True)
    return [unit.files for unit in units]


def run(files, options):
    """The findings in a unit: a list of texts, each of some lines."""
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as unit:
        unit.write("".join(f'#include "{ROOT / name}"\n' for name in files))
        unit.flush()
        command = ["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy",
                   f"--header-filter={re.escape(str(ROOT))}/(src|tests)/", *options, unit.name,
                   "--", *FLAGS]
        ran = subprocess.run(command, cwd=ROOT, text=True, errors="replace", capture_output=True)
    if "[clang-diagnostic-error]" in ran.stdout and len(files) > 1:
        middle = len(files) // 2
        print(f"tidy: does not compile as one unit: {files[0]} .. {files[-1]}", file=sys.stderr)
        return run(files[:middle], options) + run(files[middle:], options)
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
        program = [name for name in tracked("src/*.cc") if not is_test(name)]
        units = units_of(program)
        if everything:
            rest = {*tracked("src/*.cc"), *tracked("tests/*.cc")} - set(program)
            units += [[name] for name in sorted(rest)]
    options = [f"--checks={SLOW_CHECKS}"] if everything else []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(lambda files: run(files, options), units)
        findings = sorted({finding for unit in found for finding in unit})
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
