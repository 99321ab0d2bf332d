#!/usr/bin/env python3
"""includes.py [SRC]: whether the files under src/ include each other in one direction.

Rooms are listed from what knows nothing to what knows all: a file includes files of its own room
and of those before it. Within all rooms, a header and the .cc file of the same name are one file,
and no two files need each other, neither directly nor through others. Unit tests stand outside: nobody
includes them. Exits with 1 and one line a finding.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Folders below a room belong to it. Those of report/ still include each other: they are one room.
ROOMS = ("pch", "base", "syscalls", "ptrace", "decoder", "probe", "emu", "guest_kernel", "profile", "report",
         "shadow/budget", "shadow/input", "shadow", "shadow/latency", "shadow/exact", "session",
         "cli")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def room_of(name):
    """The room with the longest name that a file is in."""
    fitting = [room for room in ROOMS if name.startswith(room + "/")]
    return max(fitting, key=len, default=None)


def file_of(name):
    """A header and its .cc are one file."""
    return re.sub(r"\.(h|cc)$", "", name)


def includes_of(source):
    """{name: names of files under `source` that it includes}"""
    names = [str(path.relative_to(source)) for path in sorted(source.rglob("*"))
             if path.suffix in (".h", ".cc") and not path.name.endswith("_test.cc")]
    return {name: {found for found in INCLUDE.findall((source / name).read_text())
                   if (source / found).is_file()} for name in names}


def wrong_directions(includes):
    for name, found in sorted(includes.items()):
        if room_of(name) is None:
            yield f"src/{name}: its folder is not among the rooms of tests/lint/includes.py"
            continue
        for other in sorted(found):
            if room_of(other) is None or ROOMS.index(room_of(other)) > ROOMS.index(room_of(name)):
                yield f"src/{name}: includes {other}, of a room behind its own"


def circles(includes):
    """Files that need each other, one circle each time."""
    needs = collections.defaultdict(set)
    for name, found in includes.items():
        needs[file_of(name)] |= {file_of(other) for other in found} - {file_of(name)}
    done = set()

    def search(start):
        path, choices = [start], [iter(sorted(needs[start]))]
        while path:
            following = next(choices[-1], None)
            if following is None:
                done.add(path.pop())
                choices.pop()
            elif following in path:
                yield path[path.index(following):] + [following]
            elif following not in done:
                path.append(following)
                choices.append(iter(sorted(needs[following])))

    for start in sorted(needs):
        if start not in done:
            for circle in search(start):
                yield "files need each other: " + " -> ".join(circle)


def main():
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src"
    includes = includes_of(source)
    findings = [*wrong_directions(includes), *circles(includes)]
    for finding in findings:
        print(finding)
    return bool(findings) or not includes


if __name__ == "__main__":
    sys.exit(main())
