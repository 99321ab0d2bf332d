#!/usr/bin/env python3
"""Tests tests/first_failure.py on logs with a failure of each kind."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "first_failure.py"

PASSED = {"name": "shadowprof / base", "result": "OK", "stdout": "", "stderr": "", "returncode": 0,
          "duration": 0.1, "command": ["base_test"]}
DOCTEST = """\
===============================================================================
src/emu/run/emulator_test.cc:10:
TEST CASE:  two results

src/emu/run/emulator_test.cc:14: ERROR: CHECK( a == b ) is NOT correct!
  values: CHECK( 1 == 2 )
"""


class FirstFailure(unittest.TestCase):
    def said(self, *tests):
        with tempfile.TemporaryDirectory() as folder:
            logs = pathlib.Path(folder, "meson-logs")
            logs.mkdir()
            logs.joinpath("testlog.json").write_text(
                "".join(json.dumps({**PASSED, **test}) + "\n" for test in tests))
            return subprocess.run([sys.executable, SCRIPT, folder], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout

    def test_a_unit_test_names_its_case(self):
        self.assertEqual(
            self.said({}, {"name": "shadowprof / emu", "result": "FAIL", "stdout": DOCTEST,
                           "returncode": 1, "command": ["src/emu/emu_test"]}),
            "emu: two results: CHECK( a == b ) is NOT correct!; "
            "alone: src/emu/emu_test -tc='two results'\n")

    def test_what_a_test_says_of_itself_stands(self):
        line = "FAILED e2e-diff: test_top: 1 != 2; alone: tests/e2e/run diff test_top"
        self.assertEqual(
            self.said({"name": "shadowprof:e2e+reports / e2e-diff", "result": "FAIL",
                       "stdout": f"...\n{line}\n"}),
            "e2e-diff: test_top: 1 != 2; alone: tests/e2e/run diff test_top\n")

    def test_an_instruction_case_says_how_to_run_it(self):
        self.assertEqual(
            self.said({"name": "shadowprof:instructions / instructions", "result": "FAIL",
                       "stdout": "FAILED mulx --seed 1 --assignment 3 at trace level 0:\n  r9: 1\n"
                                 "the first that failed: instruction_test --only mulx\n"}),
            "instructions: mulx --seed 1 --assignment 3 at trace level 0; "
            "alone: instruction_test --only mulx\n")

    def test_one_without_end_says_so(self):
        self.assertEqual(
            self.said({"name": "shadowprof / worker", "result": "TIMEOUT", "duration": 1200.4}),
            "worker: no end within 1200 s; alone: base_test\n")

    def test_the_first_of_several_counts(self):
        self.assertTrue(self.said({"name": "one", "result": "FAIL"},
                                  {"name": "two", "result": "FAIL"}).startswith("one: "))

    def test_without_failure_nothing_is_said(self):
        self.assertEqual(self.said({}), "")


if __name__ == "__main__":
    unittest.main()
