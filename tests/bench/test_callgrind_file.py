"""Tests what bench/accuracy reads from callgrind's files and how it compares that with exact
counts."""

import collections
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/e2e")]
import against_callgrind  # noqa: E402  (found through the line above)
import callgrind_file  # noqa: E402
import load_addresses  # noqa: E402

# Written by hand after the format's specification: names have numbers, positions and targets are
# relative to the last line, and the line behind a call or jump is its own position.
TEXT = """\
# callgrind format
version: 1
positions: instr line
events: Ir
summary: 40

ob=(1) /usr/bin/tool
fl=(1) tool.c
fn=(1) main
0x1000 10 5
+4 10 5
cob=(2) /lib/libx.so
cfi=(2) x.c
cfn=(2) work
calls=3 0x700 20
* 10 99
jcnd=2/5 -4 9
* 10
fi=(3) tool.h
+6 11 5
jump=5 0x1100 *
* 11
fn=(3) other
cfn=(1)
calls=7 0x1000 10
-10 10 1

ob=(2)
fn=(2)
0x700 20 3
jcnd=1/3 * *
* 20

ob=(3) ???
fn=(4) 0x4838000
0x4838000 0 1
totals: 40
"""
TOOL, LIBRARY = "/usr/bin/tool", "/lib/libx.so"


class Reading(unittest.TestCase):
    def setUp(self):
        self.file = callgrind_file.CallgrindFile(TEXT.splitlines(keepends=True))

    def test_executions(self):
        self.assertEqual(self.file.executed, {
            (TOOL, 0x1000): 5, (TOOL, 0x1004): 5, (TOOL, 0x100a): 5, (LIBRARY, 0x700): 3,
            (callgrind_file.UNKNOWN, 0x4838000): 1})

    def test_jumps(self):
        self.assertEqual(self.file.conditional, {
            ((TOOL, 0x1004), (TOOL, 0x1000)): 2, ((LIBRARY, 0x700), (LIBRARY, 0x700)): 1})
        self.assertEqual(self.file.jumps, {((TOOL, 0x100a), (TOOL, 0x1100)): 5})

    def test_calls(self):
        self.assertEqual(self.file.calls, {((TOOL, 0x1004), (LIBRARY, 0x700)): 3,
                                           ((TOOL, 0x1000), (TOOL, 0x1000)): 7})

    def test_names(self):
        self.assertEqual(self.file.functions[TOOL, 0x1004], "main")
        self.assertEqual(self.file.functions[LIBRARY, 0x700], "work")


class Comparing(unittest.TestCase):
    def test_agreement(self):
        seen = against_callgrind.agreement(collections.Counter(a=60, b=30, c=4),
                                           collections.Counter(a=60, b=20, d=6))
        self.assertEqual((seen.exact, seen.callgrind), (94, 86))
        self.assertAlmostEqual(seen.same, 60 / 100)
        self.assertAlmostEqual(seen.overlap, 80 / 100)
        self.assertEqual(seen.differences, [(30, 20, "b"), (0, 6, "d"), (4, 0, "c")])

    def test_jump_to_another_function_is_no_call(self):
        file = callgrind_file.CallgrindFile(TEXT.splitlines())
        exact = against_callgrind.Counts(
            taken=collections.Counter(), branches=collections.Counter(), calls=collections.Counter(),
            repeats=collections.Counter(), names={},
            jumps=collections.Counter({((TOOL, 0x1000), (TOOL, 0x1000)): 7}))
        counts = against_callgrind.callgrind_counts(file, load_addresses.LoadAddresses(), exact)
        self.assertEqual(counts.jumps[(TOOL, 0x1000), (TOOL, 0x1000)], 7)
        self.assertEqual(list(counts.calls), [((TOOL, 0x1004), (LIBRARY, 0x700))])
        self.assertEqual(counts.repeats, {(LIBRARY, 0x700): 1})
        self.assertEqual(list(counts.taken), [((TOOL, 0x1004), (TOOL, 0x1000))])


if __name__ == "__main__":
    unittest.main()
