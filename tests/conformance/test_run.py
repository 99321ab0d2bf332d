#!/usr/bin/env python3
"""Tests that tests/conformance/run notices faults: with programs that are wrong themselves, and
with a shadowprof that harms programs that are right."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

PRINTS = """\
// Prints two lines.
#include "check.h"

int main(void) {
    printf("one\\ntwo\\n");
}
"""
FORKS = """\
// Leaves a child that sleeps.
#include "check.h"

int main(void) {
    if (fork() == 0) {
        close(1);
        close(2);
        sleep(100);
    }
}
"""

# A replacement of shadowprof. {harm} is code that changes the program's {command}, its output, or
# what is written.
FAKE = """\
#!/usr/bin/env python3
import json, os, subprocess, sys, time
split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
command, options = sys.argv[split + 1:], sys.argv[:split]
exact = {{"intervals": 1, "diverged": 0}}
intervals, diverged, profile = 1, 0, True
out = subprocess.run(command, stdout=subprocess.PIPE).stdout.decode()
status = 0
{harm}
print(out, end="")
if "-o" in options and profile:
    with open(options[options.index("-o") + 1], "w") as file:
        file.write(json.dumps({{"sampling": {{"exact": exact}}}}))
if options[1] == "verify":
    print(f"shadowprof: verify: {{intervals}} interval with 9 instructions and 1 page compared, "
          f"{{diverged}} diverged", file=sys.stderr)
    status = 1 if diverged else status
sys.exit(status)
"""


class Runner(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def run_program(self, source, *words, harm="pass"):
        """Returns what the runner prints for one program, and its exit status."""
        area = self.folder / "programs/area"
        area.mkdir(parents=True)
        (area / "name.c").write_text(source)
        fake = self.folder / "shadowprof"
        fake.write_text(FAKE.format(harm=harm))
        fake.chmod(0o755)
        done = subprocess.run(
            [sys.executable, HERE / "run", "--folder", area.parent, "--jobs", "1", "--grace", "1", *words],
            env=dict(os.environ, SHADOWPROF=str(fake)), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def assert_fails(self, said, source, *words, harm="pass"):
        status, text = self.run_program(source, *words, harm=harm)
        self.assertEqual(status, 1, text)
        self.assertIn(said, text)

    def assert_harm_noticed(self, said, harm, mode="sampled", *words):
        self.assert_fails(said, PRINTS, "--modes", mode, *words, harm=harm)

    def test_what_is_well_passes(self):
        status, text = self.run_program(PRINTS, "--modes", "sampled,bursts,exact,verify")
        self.assertEqual(status, 0, text)
        self.assertIn("1 programs, 5 runs, 0 failures, 0 known faults, 0 skipped", text)

    def test_status_and_signal_are_as_announced(self):
        died = PRINTS.replace("lines.\n", "lines.\n// signal: SIGKILL\n").replace(
            'printf("one', 'kill(getpid(), 9);printf("').replace(
            '"check.h"\n', '"check.h"\n#include <signal.h>\n')
        status, text = self.run_program(died, "--modes", "native")
        self.assertEqual(status, 0, text)

    def test_a_native_status_is_noticed(self):
        self.assert_fails("area/name, native: status 0, not status 3",
                          PRINTS.replace("lines.\n", "lines.\n// status: 3\n"), "--modes", "native")

    def test_a_failed_check_is_shown(self):
        self.assert_fails("failed: 1 == 2", PRINTS.replace("printf", "CHECK(1 == 2); printf"),
                          "--modes", "native")

    def test_a_stray_process_is_noticed(self):
        self.assert_fails("left processes behind: area.name", FORKS, "--modes", "native")

    def test_a_file_left_behind_is_noticed(self):
        self.assert_fails("left files behind: left",
                          PRINTS.replace("printf", 'fclose(fopen("left", "w")); printf'),
                          "--modes", "native")

    def test_what_does_not_compile_fails(self):
        self.assert_fails("does not compile", PRINTS.replace("printf", "int unused; printf"))

    def test_a_program_that_says_nothing_of_itself_is_refused(self):
        self.assert_fails("its first line does not say what it shows",
                          PRINTS.replace("// Prints", "/* Prints").replace("lines.", "lines. */"))

    def test_a_second_line_of_text_is_refused(self):
        self.assert_fails("does not fit into its first line",
                          PRINTS.replace("lines.\n", "lines\n// and more. status: 3\n"))

    def test_an_unknown_directive_is_refused(self):
        self.assert_fails("nobody knows the directive 'statsu'",
                          PRINTS.replace("lines.\n", "lines.\n// statsu: 3\n"))

    def test_skipped_is_told_by_name(self):
        status, text = self.run_program(PRINTS.replace("printf", 'skip("no such host"); printf'))
        self.assertEqual(status, 0, text)
        self.assertIn("skipped area/name: skipped: no such host", text)

    def test_a_mode_is_left_out_only_with_a_reason(self):
        without = PRINTS.replace("lines.\n", "lines.\n// leave-out: sampled,exact: cannot be had\n")
        status, text = self.run_program(without, "--modes", "sampled,verify,exact")
        self.assertEqual(status, 0, text)
        self.assertIn("1 programs, 2 runs", text)

    def test_a_known_fault_is_named_and_no_failure_but_in_its_mode_alone(self):
        known = PRINTS.replace("lines.\n", "lines.\n// known-fault: sampled: writes 2\n")
        harm = "out = out.replace('two', '2')"
        status, text = self.run_program(known, "--modes", "sampled", harm=harm)
        self.assertEqual(status, 0, text)
        self.assertIn("known fault area/name, sampled, 1 times: writes 2", text)
        self.assertIn("2 runs, 0 failures, 1 known faults, 0 skipped", text)
        (self.folder / "programs/area/name.c").unlink()
        (self.folder / "programs/area").rmdir()
        self.assert_fails("FAILED area/name, bursts", known, "--modes", "bursts", harm=harm)

    def test_a_mode_left_out_without_reason_is_refused(self):
        self.assert_fails("leave-out wants MODE",
                          PRINTS.replace("lines.\n", "lines.\n// leave-out: exact\n"))

    def test_wrong_output_is_noticed(self):
        self.assert_harm_noticed('standard output, line 2: "two" natively, "2" here',
                                 "out = out.replace('two', '2')")

    def test_missing_output_is_noticed(self):
        self.assert_harm_noticed('standard output, line 2: "two" natively, nothing here',
                                 "out = 'one\\n'")

    def test_output_on_standard_error_is_noticed(self):
        self.assert_harm_noticed('standard error, line 1: nothing natively, "oh" here',
                                 "print('oh', file=sys.stderr)")

    def test_messages_of_shadowprof_are_not_the_programs(self):
        status, text = self.run_program(PRINTS, "--modes", "sampled",
                                        harm="print('shadowprof: oh', file=sys.stderr)")
        self.assertEqual(status, 0, text)

    def test_wrong_status_is_noticed(self):
        self.assert_harm_noticed("status 4, natively status 0", "status = 4")

    def test_a_missing_profile_is_noticed(self):
        self.assert_harm_noticed("no profile was written", "profile = False")

    def test_a_process_that_shadowprof_leaves_is_noticed(self):
        self.assert_harm_noticed(
            "left processes behind: sleep",
            "subprocess.Popen(['sleep', '100'], stdout=-3, stderr=-3)")

    def test_a_hang_is_noticed(self):
        self.assert_harm_noticed("hangs: it did not end within 1 s", "time.sleep(100)", "sampled",
                                 "--limit", "1")

    def test_divergences_are_noticed(self):
        self.assert_harm_noticed("3 intervals diverged", "diverged = 3", "verify")

    def test_divergences_by_design_are_not_failures(self):
        by_design = PRINTS.replace("lines.\n", "lines.\n// diverges: others write\n")
        status, text = self.run_program(by_design, "--modes", "verify", harm="diverged = 3")
        self.assertEqual(status, 0, text)

    def test_divergences_of_exact_mode_are_noticed(self):
        self.assert_harm_noticed("3 intervals diverged", "exact['diverged'] = 3", "exact")

    def test_an_early_end_is_noticed(self):
        self.assert_harm_noticed("not compared to the end: no idea",
                                 "exact['stopped_early'] = 'no idea'", "exact")

    def test_threads_may_end_it(self):
        status, text = self.run_program(PRINTS, "--modes", "exact",
                                        harm="exact['stopped_early'] = 'it started a second thread'")
        self.assertEqual(status, 0, text)

    def test_that_nothing_was_compared_is_noticed(self):
        self.assert_harm_noticed("no interval was compared", "exact['intervals'] = 0", "exact")


if __name__ == "__main__":
    unittest.main()
