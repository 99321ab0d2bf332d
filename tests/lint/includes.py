#!/usr/bin/env python3
"""includes.py [SRC]: whether the files under src/ include each other in one direction.

Stages are listed from what knows nothing to what knows all: a file includes files of its own stage
and of those before it. Within all stages, a header and the .cc file of the same name are one file,
and no two files need each other, neither directly nor through others. The same holds for folders.
Folders of profile kinds are the exception: a kind has both its record, which `profile.h` lists, and
what collects the record. No folder has more files than a reader can look over. Unit tests stand
outside: nobody includes them.

Pages agree with the tree: the table of docs/architecture.md has one row for each stage, and files
and folders exist that the pages in src/ name in backticks. Exits with 1 and one line a finding.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STAGES = ("pch", "base", "syscalls", "ptrace", "decoder", "probe", "emu", "guest_kernel", "profile",
          "report", "shadow", "session", "cli")
KINDS = "profile/kinds"
MOST_FILES = 34  # of one folder, without tests
TABLE = "docs/architecture.md"
WITHOUT_ROW = ("pch",)  # precompiled headers, no stage of their own
ROW = re.compile(r"^\| `src/([^`/]+)/` \|", re.MULTILINE)
# In backticks: a folder, a path, or a file of code without its folder.
NAMED = re.compile(r"`(\w[\w.-]*(?:/[\w.-]+)*(?:/|\.(?:h|cc|md))|\w[\w.-]*(?:/[\w.-]+)+)`")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def stage_of(name):
    return name.partition("/")[0]


def folder_of(name):
    return name.rpartition("/")[0]


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
        if stage_of(name) not in STAGES:
            yield f"src/{name}: its folder is not among the stages of tests/lint/includes.py"
            continue
        for other in sorted(found):
            later = STAGES[STAGES.index(stage_of(name)) + 1:]
            if stage_of(other) in later or stage_of(other) not in STAGES:
                yield f"src/{name}: includes {other}, of a stage behind its own"


def file_needs(includes):
    needs = collections.defaultdict(set)
    for name, found in includes.items():
        needs[file_of(name)] |= {file_of(other) for other in found} - {file_of(name)}
    return needs


def folder_needs(includes):
    needs = collections.defaultdict(set)
    for name, found in includes.items():
        folders = {folder_of(other) for other in found if not other.startswith(KINDS + "/")}
        if not name.startswith(KINDS + "/"):
            needs[folder_of(name)] |= folders - {folder_of(name)}
    return needs


def full_folders(includes):
    sizes = collections.Counter(folder_of(name) for name in includes)
    for folder, size in sorted(sizes.items()):
        if size > MOST_FILES:
            yield f"src/{folder}/: {size} files; {MOST_FILES} are the most: split it by idea"


def circles(needs, what):
    """What needs itself through others, one circle each time."""
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
                yield f"{what} need each other: " + " -> ".join(circle)


def wrong_rows(page):
    """Stages that do not have one row in the page's table, and rows that are of no stage."""
    rows = collections.Counter(ROW.findall(page.read_text()))
    stages = [stage for stage in STAGES if stage not in WITHOUT_ROW]
    for stage in stages:
        if rows[stage] != 1:
            yield f"{TABLE}: {rows[stage]} rows of src/{stage}/ in the table of stages, not one"
    for row in rows:
        if row not in stages:
            yield f"{TABLE}: src/{row}/ is not among the stages of tests/lint/includes.py"


def lost_names(source):
    """Files and folders that pages of `source` name, but that are neither in the page's own folder
    nor in `source`."""
    for page in sorted([*source.glob("*.md"), *source.glob("*/*.md")]):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for name in NAMED.findall(line):
                if not (page.parent / name).exists() and not (source / name).exists():
                    yield f"src/{page.relative_to(source)}:{number}: there is no {name}"


def main():
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src"
    includes = includes_of(source)
    findings = [*wrong_directions(includes)]
    # One wrong direction makes many circles.
    if not findings:
        findings = [*circles(file_needs(includes), "files"),
                    *circles(folder_needs(includes), "folders")]
    findings += [*full_folders(includes), *wrong_rows(ROOT / TABLE), *lost_names(source)]
    for finding in findings:
        print(finding)
    return bool(findings) or not includes


if __name__ == "__main__":
    sys.exit(main())
