"""Parses, hashes, compresses and sorts, as Python programs do. argv: TEXT"""
import collections
import hashlib
import json
import re
import sys
import zlib

with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
    text = file.read(2_000_000)
words = collections.Counter(re.findall(r"[a-z]+", text.lower()))
top = words.most_common(100)
table = {word: [count, hashlib.sha256(word.encode()).hexdigest()] for word, count in words.items()}
parsed = json.loads(json.dumps(table))
packed = zlib.compress(json.dumps(parsed, sort_keys=True).encode(), 6)
primes = [n for n in range(2, 20000) if all(n % d for d in range(2, int(n**0.5) + 1))]
print(len(top), len(packed), len(primes), sum(i * i / 3 for i in primes))
