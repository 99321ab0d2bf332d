#!/usr/bin/env python3
"""links.py FILE.md...: whether their relative links lead to tracked files and existing headings.

Links to the web are not followed. Exits with 1 and one line for each link that leads nowhere.
"""

import functools
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)"
                  r"|<(?:img|a)\b[^>]*?\b(?:src|href)=\"([^\"]+)\"")


def lines_without_code(path):
    """Yields (number, line) outside fenced blocks."""
    fence = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark = re.match(r" {0,3}(```+|~~~+)", line)
        if fence is None and not mark:
            yield number, line
        elif fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None


@functools.cache
def anchors(path):
    """Returns GitHub's anchors of a page's headings."""
    found = set()
    for _, line in lines_without_code(path):
        heading = re.match(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*$", line)
        if not heading:
            found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        copies = 0
        while name + (f"-{copies}" if copies else "") in found:
            copies += 1
        found.add(name + (f"-{copies}" if copies else ""))
    return found


def problem_of(page, target, known):
    """Returns why this link of `page` leads nowhere, or None."""
    place, _, anchor = target.partition("#")
    path = (page.parent / place).resolve() if place else page
    if place and path not in known:
        return "no such tracked file"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return "no such heading"
    return None


def main(names):
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True)
    known = {pathlib.Path(name).resolve() for name in listed.stdout.decode().split("\0") if name}
    known |= {folder for path in known for folder in path.parents}
    bad = 0
    for name in names:
        page = pathlib.Path(name).resolve()
        for number, line in lines_without_code(page):
            for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
                target = next(group for group in match.groups() if group)
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                problem = problem_of(page, target, known)
                if problem:
                    print(f"{name}:{number}: {target}: {problem}")
                    bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
