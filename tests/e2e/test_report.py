"""`report` and `annotate` on a profile whose true counts are known."""

import json
import os
import pathlib
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

    def test_without_a_name_the_profile_of_a_run_without_one_is_shown(self):
        commands = (("report",), ("annotate",), ("export", "--format=folded"))
        for words in commands:
            message = self.refused(*words)
            self.assertIn("no 'shadowprof.json' in this folder; 'shadowprof run' writes it", message)
            self.assertIn(f"'shadowprof {words[0]} ", message)
        self.profile_path.rename(self.folder / "shadowprof.json")
        for words in commands:
            self.assertEqual(self.shown(*words), self.shown(*words, "shadowprof.json"), words)
            self.assertIn("[shadowprof.json]", self.shown(words[0], "--help"))
        self.assertIn("edges_run", self.shown("report", "--by=function"))
        self.assertIn("'shadowprof annotate shadowprof.json edges_run'",
                      self.refused("annotate", "edges_run"))

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

    def test_json_has_the_numbers_of_the_text(self):
        data = json.loads(self.shown("report", "--json", "--by=call,edge", "--filter=edges_run",
                                     "--top=3", self.profile_path))
        self.assertEqual(data["schema"], "shadowprof-report/1")
        self.assertEqual(data["command"], [victim("edges"), str(self.EIGHTS)])
        calls, edges = data["lists"]
        self.assertEqual((calls["list"], edges["list"]), ("call", "edge"))
        text = self.shown("report", "--by=edge", "--filter=edges_run", "--top=3",
                          self.profile_path)
        rows = re.findall(r"^ *[0-9.]+% +(\d+)  (\w+)", text, re.MULTILINE)
        self.assertEqual([(str(edge["count"]), edge["from"]["function"])
                          for edge in edges["entries"]], rows)
        self.assertEqual(len(rows), 3)
        more = re.search(r"and (\d+) more", text)
        self.assertEqual(edges["all"], 3 + int(more.group(1)))
        leaf = next(call for call in calls["entries"] if call["callee"]["function"] == "edges_leaf")
        self.assertEqual(leaf["count"], self.ROUNDS)
        self.assertEqual(os.path.realpath(leaf["site"]["module"]), os.path.realpath(victim("edges")))

    def test_json_has_functions_unless_told_otherwise(self):
        (functions,) = json.loads(self.shown("report", "--json", self.profile_path))["lists"]
        self.assertEqual((functions["list"], functions["sort"]), ("function", "instructions"))
        text = self.shown("report", "--by=function", self.profile_path)
        for entry, line in zip(functions["entries"], text.splitlines()[2:]):
            self.assertEqual(f"{100 * entry['share']:.1f}%" if entry["share"] >= 0.0005 else "<0.1%",
                             line.split()[0])
        self.assertIn("--json", self.refused("report", "--json", "--html=x", self.profile_path))
        self.assertIn("--findings", self.refused("report", "--json", "--findings",
                                                 self.profile_path))

    def opened(self, *words, **environment):
        """Runs `report --open`. Returns the page's file, what the browser was given, and what was
        said."""
        programs = self.folder / "programs"
        programs.mkdir(exist_ok=True)
        temporary = self.folder / "a b'$(touch evil)"
        temporary.mkdir(exist_ok=True)
        done = self.shadowprof("report", "--open", *words, self.profile_path, env={
            "PATH": str(programs), "XDG_RUNTIME_DIR": "", "TMPDIR": str(temporary), "BROWSER": "",
            **environment})
        self.assertEqual(done.code, 0, done.stderr)
        page = pathlib.Path(re.search(r"the page is in '(.*)', (?:opened|and was)",
                                      done.stderr).group(1))
        self.assertIn("<html", page.read_text())
        self.assertFalse((self.folder / "evil").exists())
        given = self.folder / "given"
        return page, given.read_text().splitlines() if given.exists() else None, done.stderr

    def make_browser(self, name, status=0):
        programs = self.folder / "programs"
        programs.mkdir(exist_ok=True)
        program = programs / name
        program.write_text(f"#!/bin/sh\nfor word; do echo \"$word\"; done > '{self.folder}/given'\n"
                           f"exit {status}\n")
        program.chmod(0o700)

    def test_a_page_is_opened(self):
        self.make_browser("xdg-open")
        page, given, said = self.opened()
        self.assertIn("opened by xdg-open", said)
        self.assertEqual(given, [page.as_uri()])
        self.assertEqual(page.parent.stat().st_mode & 0o77, 0)
        named, given, _ = self.opened(f"--html={self.folder}/named.html")
        self.assertEqual((named, given), (self.folder / "named.html", [named.as_uri()]))

    def test_a_page_is_opened_by_the_first_browser_that_works(self):
        self.make_browser("broken", status=3)
        self.make_browser("good")
        page, given, said = self.opened(BROWSER="missing:broken:good --new %s tab")
        self.assertIn("opened by good", said)
        self.assertEqual(given, ["--new", page.as_uri(), "tab"])

    def test_a_page_that_cannot_be_opened_is_named(self):
        _, given, said = self.opened()
        self.assertIsNone(given)
        self.assertIn("xdg-open is not installed, and the variable BROWSER is not set", said)
        self.make_browser("broken", status=3)
        self.assertIn("broken failed with exit status 3", self.opened(BROWSER="broken")[2])
        self.assertIn("--open", self.refused("report", "--open", "--html=-", self.profile_path))

    def test_a_profile_that_cannot_be_read_leaves_no_folder_for_a_page(self):
        temporary = self.folder / "temporary"
        temporary.mkdir()
        for path in ("missing.json", "/dev/null"):
            done = self.shadowprof("report", "--open", path, env={
                "XDG_RUNTIME_DIR": "", "TMPDIR": str(temporary), "BROWSER": "true"})
            self.assertEqual(done.code, 125)
            self.assertEqual(list(temporary.iterdir()), [])

    def test_the_name_of_a_browser_cannot_upset_the_terminal(self):
        said = self.opened(BROWSER="\x1b[2Jmissing")[2]
        self.assertNotIn("\x1b", said)
        self.assertIn("?[2Jmissing", said)

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
