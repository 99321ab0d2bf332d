"""`report` and `annotate` on a profile whose true counts are known."""

import os
import pty
import re
import subprocess

from harness import SHADOWPROF, TestCase, main, victim


class Report(TestCase):
    EIGHTS = 1000
    ROUNDS = 8 * EIGHTS

    def setUp(self):
        super().setUp()
        done, self.seen = self.profile(victim("edges"), str(self.EIGHTS),
                                       options=("--mode=exact",), module=victim("edges"))
        self.assertEqual(done.code, 0, done.stderr)

    def shown(self, command, *words):
        done = self.shadowprof(command, *words)
        self.assertEqual(done.code, 0, done.stderr)
        self.assertNotIn(b"\x1b", done.stdout)
        return done.stdout.decode()

    def refused(self, command, *words):
        done = self.shadowprof(command, *words)
        self.assertEqual(done.code, 125)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode() if isinstance(done.stderr, bytes) else done.stderr

    def line_of(self, text, address):
        """Returns the executions and the rest of the line for the instruction at an address."""
        found = re.search(rf"^ *([0-9.]+(?: [kM])?)? .* {address:x}  (.*)$", text, re.MULTILINE)
        self.assertIsNotNone(found, f"{address:x} in {text}")
        return found.group(1), found.group(2)

    def test_code_has_the_true_counts(self):
        text = self.shown("annotate", self.profile_path, "edges_run")
        symbols = self.seen.symbols
        executions, code = self.line_of(text, symbols["edges_loop"])
        self.assertEqual((executions, code), (str(self.ROUNDS), "inc rbx"))
        self.assertTrue(self.line_of(text, symbols["edges_periodic"])[1].endswith("taken 75.0%"))
        executions, code = self.line_of(text, symbols["edges_periodic_not"])
        self.assertEqual(executions, str(self.ROUNDS // 4))
        self.assertIn("<edges_leaf>", self.line_of(text, symbols["edges_call"])[1])
        self.assertRegex(self.line_of(text, symbols["edges_indirect_call"])[1],
                         "-> edges_(odd|even) 50.0%, edges_(odd|even) 50.0%")

    def test_compressed_profiles_are_written_and_read_as_others(self):
        plain = self.shown("report", self.profile_path)
        for suffix in (".json.gz", ".json.zst"):
            with self.subTest(suffix=suffix):
                packed = self.folder / f"packed{suffix}"
                merged = self.shadowprof("merge", "-o", packed, self.profile_path)
                if suffix == ".json.zst" and merged.code == 125:
                    self.assertIn("without zstd", merged.stderr)
                    self.skipTest("built without zstd")
                self.assertLess(packed.stat().st_size, self.profile_path.stat().st_size / 3)
                self.assertEqual(self.shown("report", packed), plain)
                cut = self.folder / f"cut{suffix}"
                cut.write_bytes(packed.read_bytes()[:-10])
                self.assertIn("ends too early", self.refused("report", cut))

    def test_functions_are_found_by_pattern_and_near_names_are_told(self):
        text = self.shown("annotate", self.profile_path, "edges_[le]*")
        self.assertRegex(text, "(?m)^edges_leaf  ")
        self.assertNotRegex(text, "(?m)^edges_run  ")
        self.assertIn("did you mean 'edges_run'?", self.refused("annotate", self.profile_path, "edges_rum"))
        self.assertIn("--view", self.refused("annotate", "--view=both", self.profile_path))
        hottest = self.shown("annotate", self.profile_path)
        self.assertRegex(hottest, "^\nedges_run  ")
        self.assertEqual(len(re.findall("(?m)^[a-z_]+  ", self.shown(
            "annotate", "--top=2", self.profile_path))), 2)

    def test_lists_have_the_true_counts(self):
        text = self.shown("report", "--by=call", "--filter=edges_run", self.profile_path)
        self.assertRegex(text, rf" {self.ROUNDS}  edges_run\+\w+ +-> edges_leaf")
        self.assertNotIn("main+", text)
        text = self.shown("report", "--by=edge", "--sort=minority", "--top=1", self.profile_path)
        # The random branch is taken in three of four executions, like the periodic one.
        self.assertRegex(text, rf" {self.ROUNDS}  edges_run\+\w+ +taken 2\d|taken 7\d")
        self.assertIn("it takes count", self.refused("report", "--by=edge", "--sort=name2", self.profile_path))
        self.assertIn("--host", self.refused("report", "--host", "--top=2"))

    def test_a_terminal_gets_colours_and_its_width(self):
        for no_colour in (False, True):
            environment = dict(os.environ, TERM="xterm")
            environment.pop("NO_COLOR", None)
            if no_colour:
                environment["NO_COLOR"] = "1"
            master, slave = pty.openpty()
            subprocess.run(["stty", "cols", "70"], stdin=slave, check=True)
            with os.fdopen(master, "rb", buffering=0) as terminal:
                process = subprocess.Popen(
                    [SHADOWPROF, "annotate", self.profile_path, "edges_run"], stdout=slave,
                    stderr=slave, env=environment)
                os.close(slave)
                text = b""
                try:
                    while chunk := terminal.read(65536):
                        text += chunk
                except OSError:
                    pass
                self.assertEqual(process.wait(), 0, text)
            self.assertEqual(b"\x1b" in text, not no_colour)
            for line in re.sub(r"\x1b\[\d*m", "", text.decode()).splitlines():
                self.assertLessEqual(len(line), 70)


if __name__ == "__main__":
    main()
