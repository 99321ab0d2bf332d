"""Translates addresses of a running process to addresses in its files."""

import contextlib
import pathlib
import struct

PT_LOAD = 1
EXECUTABLE = 2  # index in the column of permissions


def segments(path):
    """Returns (file offset, virtual address, size in the file) of each segment that a 64-bit ELF
    file loads."""
    data = pathlib.Path(path).read_bytes()
    if data[:5] != b"\x7fELF\x02":
        return []
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = (struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count))
    return [(offset, address, length) for kind, _, offset, address, _, length in headers
            if kind == PT_LOAD]


class LoadAddresses:
    def __init__(self):
        self._mappings = {}  # (start, end): (path, file offset)
        self._segments = {}

    def look(self, pid):
        """Adds the current mappings of the process, if it still runs."""
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
                words = line.split(maxsplit=5)
                if len(words) == 6 and words[5].startswith("/") and words[1][EXECUTABLE] == "x":
                    start, end = (int(word, 16) for word in words[0].split("-"))
                    self._mappings[start, end] = words[5], int(words[2], 16)

    def place(self, address):
        """Returns (file, address in the file) or None."""
        for (start, end), (path, offset) in self._mappings.items():
            if start <= address < end:
                return self._in_file(path, address - start + offset)
        return None

    def _in_file(self, path, at):
        if path not in self._segments:
            self._segments[path] = segments(path)
        for offset, address, length in self._segments[path]:
            if offset <= at < offset + length:
                return path, at - offset + address
        return None
