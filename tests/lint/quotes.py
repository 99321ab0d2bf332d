#!/usr/bin/env python3
"""quotes.py FILE.md...: whether the code that they quote is still in its file.

A quote is a block fenced with ```cpp. The last line before it that is not empty names the file in
backticks: `src/...`. The lines of the quote follow each other in that file, in this order, but for
leading blanks. A line `...` skips any number of lines. Blocks whose line before names no file are
no quotes. Exits with 1 and one line for each quote that is not in its file.
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAMED = re.compile(r"`(src/[\w./-]+)`")
SKIP = "..."


def quotes_of(page):
    """Yields (the line that names a file, [(number, line) of the quote]) for each block of C++."""
    before, fence, quote = "", None, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)\s*(\S*)", line)
        if fence is None and mark:
            fence = mark[1]
            quote = [] if mark[2] == "cpp" else None
        elif fence is None:
            before = line if line.strip() else before
        elif mark and mark[1].startswith(fence) and not mark[2]:
            if quote is not None:
                yield before, quote
            fence, before = None, ""
        elif quote is not None:
            quote.append((number, line.strip()))
    if quote and fence is not None:
        yield before, quote


@functools.cache
def lines_of(path):
    return [line.strip() for line in path.read_text().splitlines()]


def pieces_of(quote):
    """Returns the stretches of a quote between its skips, without empty ones."""
    pieces = [[]]
    for number, line in quote:
        if line == SKIP:
            pieces.append([])
        else:
            pieces[-1].append((number, line))
    return [piece for piece in pieces if piece]


def common(lines, start, piece):
    """Returns how many lines of a piece stand at `start`."""
    for count, (_, line) in enumerate(piece):
        if start + count >= len(lines) or lines[start + count] != line:
            return count
    return len(piece)


def problem_of(quote, lines):
    """Returns (number, line, reason) of the first line that is not in its place, or None."""
    place = 0
    for piece in pieces_of(quote):
        best = 0
        for start in range(place, len(lines)):
            here = common(lines, start, piece)
            if here == len(piece):
                place = start + here
                break
            best = max(best, here)
        else:
            number, line = piece[best]
            elsewhere = "it stands elsewhere in the file" if line in lines else "no such line"
            return number, line, elsewhere
    return None


def main(names):
    bad = 0
    for name in names:
        for before, quote in quotes_of(pathlib.Path(name)):
            for file in NAMED.findall(before)[-1:]:
                path = ROOT / file
                if not path.is_file():
                    print(f"{name}: `{file}` is quoted, but there is no such file")
                elif not pieces_of(quote):
                    print(f"{name}: the quote from {file} is empty")
                elif problem := problem_of(quote, lines_of(path)):
                    number, line, reason = problem
                    print(f"{name}:{number}: not quoted from {file}: {line} ({reason})")
                else:
                    continue
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
