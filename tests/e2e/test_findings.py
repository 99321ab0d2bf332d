"""Findings in a program that has the problems, and in one without them."""

import re
import shutil
import subprocess

from harness import TestCase, main

# Hot code with an argument that is always 3, a global that never changes, a pointer that calls the
# same function in all but one of a thousand calls, and a test that hot code jumps over.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#define ALONE __attribute__((noinline, noclone))
int scale = 5;
unsigned (*volatile unknown)(unsigned);
ALONE unsigned step(unsigned x) { return x * 2654435761u >> 3; }
ALONE unsigned rare(unsigned x) { return x ^ 1; }
ALONE unsigned twice(unsigned x, unsigned factor) {
    unsigned first = unknown(x);
    return unknown(first + factor) * factor;
}
ALONE unsigned scaled(unsigned x) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 8; ++i) {
        unsigned now = (unsigned)scale;
        sum += unknown(x ^ now) * now;
    }
    return sum;
}
unsigned (*volatile chosen)(unsigned) = step;
int main(int argc, char** argv) {
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, sum = 0;
    unknown = rare;
    for (unsigned i = 0; i < rounds; ++i) {
        sum += twice(i, VARIES ? i : 3) + scaled(i);
        chosen = i % 1000 == 999 ? rare : step;
        sum += chosen(sum);
        if (VARIES) scale = (int)(i % 17);
    }
    printf("%u\\n", sum);
}
"""

# poly(n, x) of the value-sampling literature: n is tested where it came and never copied. In 98 of
# 100 calls it is 4, from two places.
POLY = """
#include <stdio.h>
#include <stdlib.h>
#define ALONE __attribute__((noinline, noclone))
ALONE double poly(int n, double x) {
    double sum = 1;
    for (; n > 0; --n) sum = sum * x + 1;
    return sum;
}
int main(int argc, char** argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1000, four = argc > 2 ? atoi(argv[2]) : 4;
    double sum = 0;
    for (int i = 0; i < rounds; ++i) {
        sum += poly(4, i);
        sum += poly(VARIES ? i % 7 : i % 25 == 24 ? 9 : four, sum);
    }
    printf("%g\\n", sum);
}
"""


class Findings(TestCase):
    def findings_in(self, program_text, varies):
        """Returns the findings in a program of C, by its exact counts."""
        if shutil.which("gcc") is None:
            self.skipTest("gcc is not installed")
        source, program = self.folder / "work.c", self.folder / "work"
        source.write_text(program_text)
        subprocess.run(["gcc", "-g", "-O2", f"-DVARIES={varies}", "-o", program, source],
                       check=True)
        done, _ = self.profile(program, "20000",
                               options=("--mode=exact", "--profiles=edge,call,value"))
        self.assertEqual(done.code, 0, done.stderr)
        shown = self.shadowprof("report", "--findings", "--top=0", self.profile_path)
        self.assertEqual(shown.code, 0, shown.stderr)
        return shown.stdout.decode()

    def poly(self, varies):
        return self.findings_in(POLY, varies)

    def test_an_argument_is_found_by_what_calls_pass(self):
        text = self.poly(varies=0)
        self.assertRegex(text, r"argument: rdi of poly is 4\b")
        self.assertRegex(text, r"4 in at least 9[5-8]\.\d% of 40\.0 k calls")
        self.assertRegex(text, r"from main\+0x[0-9a-f]+: 4 in all of 20\.0 k")
        self.assertRegex(text, r"from main\+0x[0-9a-f]+: 4 in at least 9[1-6]\.\d% of 20\.0 k")

    def test_an_argument_that_varies_is_none(self):
        self.assertNotIn("of poly is", self.poly(varies=1))

    def found(self, varies):
        return self.findings_in(PROGRAM, varies)

    def test_what_is_there_is_found(self):
        text = self.found(varies=0)
        self.assertRegex(text, r"argument: rsi of twice is 3\b")
        self.assertRegex(text, r"from main\+0x[0-9a-f]+: 3 in 100\.0% of 20\.0 k")
        self.assertRegex(text, r"global: e\w+ = 5 in scaled: ")
        self.assertRegex(text, r"call target: main\+0x[0-9a-f]+ calls step")
        self.assertIn("99.9% of 20.0 k calls, 2 targets", text)
        page = self.shadowprof("report", "--html=-", self.profile_path)
        self.assertIn(b'"what":"rsi of twice is 3"', page.stdout.replace(b'": "', b'":"'))
        # The program's own code comes first, then libraries; each by what is at stake.
        found = re.findall(r"^ +\d+\. .*\n +([0-9.]+)% of instructions.*\n +.*  (\S+)$", text, re.MULTILINE)
        own = [re.match(r"(main|twice|scaled|step|rare)\b", place) is not None for _, place in found]
        self.assertTrue(any(own), text)
        self.assertEqual(own, sorted(own, reverse=True), text)
        for part in (True, False):
            stakes = [float(share) for (share, _), is_own in zip(found, own) if is_own == part]
            self.assertEqual(stakes, sorted(stakes, reverse=True), text)

    def test_what_is_not_there_is_not_found(self):
        text = self.found(varies=1)
        self.assertNotIn("of twice is", text)
        self.assertNotRegex(text, r"global: e\w+ = .* in scaled")
        self.assertIn("call target: ", text)

    def test_without_values_or_edges_there_is_nothing_to_say(self):
        done, _ = self.profile("true", options=("--mode=exact", "--profiles=path"))
        self.assertEqual(done.code, 0, done.stderr)
        shown = self.shadowprof("report", "--findings", self.profile_path)
        self.assertIn(b"none: ", shown.stdout)
        refused = self.shadowprof("report", "--findings", "--by=edge", self.profile_path)
        self.assertEqual(refused.code, 125)


if __name__ == "__main__":
    main()
