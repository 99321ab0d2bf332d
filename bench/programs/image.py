"""Writes a picture for image encoders. argv: FILE.png"""
import struct
import sys
import zlib

SIZE = 512


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data
            + struct.pack(">I", zlib.crc32(kind + data)))


rows = bytearray()
for y in range(SIZE):
    rows.append(0)
    for x in range(SIZE):
        rows += bytes(((x * y) >> 6 & 255, (x ^ y) & 255, (x * x + y * y) >> 8 & 255))
with open(sys.argv[1], "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n"
               + chunk(b"IHDR", struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0))
               + chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b""))
