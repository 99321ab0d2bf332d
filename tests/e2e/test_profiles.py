"""Files that are no profiles, or strange ones. Every reader of profiles either refuses a file
and names the place of the error, or does its work. Files are in tests/profiles/: good-* are
profiles, bad-* are not, and refusals.tsv has what the error messages must contain."""

import os
import subprocess

from harness import SHADOWPROF, SOURCE, TestCase, main

PROFILES = SOURCE / "tests/profiles"
FORMATS = ("folded", "callgrind", "speedscope", "pprof", "bolt", "llvm-profgen", "llvm-sample",
           *(f"csv --table={table}" for table in
             ("functions", "edges", "paths", "stacks", "calls", "values", "hazards", "addresses", "threads",
              "times", "latency", "streams", "probes")))
OWN_FAILURE = 125
# For a reader that must hold only a part of the file in memory.
MOST_MEMORY_BYTES = 700 << 20
MIB = 1 << 20


def refusals():
    lines = (PROFILES / "refusals.tsv").read_text().splitlines()
    return dict(line.split("\t") for line in lines)


class Profiles(TestCase):
    def readers(self, path, formats=FORMATS):
        """Yields each command that reads a profile, and the file that it writes, if any."""
        out = self.folder / "out"
        yield ("report", path), None
        yield ("accuracy", path, path), None
        yield ("accuracy", "--json", path, path), None
        yield ("merge", "-q", "-o", out, path, path), out
        for form in formats:
            yield ("export", *f"--format={form}".split(), "-o", out, path), out

    def assert_one_clean_line(self, text):
        self.assertRegex(text, r"\Ashadowprof: [^\x00-\x1f\x7f]+\n\Z")
        self.assertLess(len(text), 1000)

    def test_what_is_no_profile_is_refused_with_its_place(self):
        for name, place in refusals().items():
            for words, _ in self.readers(PROFILES / f"{name}.json", FORMATS[:1]):
                with self.subTest(name, command=words[:2]):
                    done = self.shadowprof(*words)
                    self.assertEqual((done.code, done.stdout), (OWN_FAILURE, b""), done.stderr)
                    self.assert_one_clean_line(done.stderr)
                    self.assertIn(f"{name}.json", done.stderr)
                    self.assertIn(place, done.stderr)
                    self.assertEqual(list(self.folder.iterdir()), [])

    def test_each_file_is_good_or_has_a_refusal(self):
        names = {path.stem for path in PROFILES.glob("*.json")}
        bad = {name for name in names if not name.startswith("good-")}
        self.assertEqual(bad, set(refusals()))
        self.assertLess(len(bad), len(names))

    def test_strange_profiles_are_read(self):
        for path in sorted(PROFILES.glob("good-*.json")):
            for words, out in self.readers(path):
                with self.subTest(path.name, command=words[:2]):
                    done = self.shadowprof(*words)
                    if words[0] in ("report", "merge"):
                        self.assertEqual(done.code, 0, done.stderr)
                    self.assertIn(done.code, (0, OWN_FAILURE), done.stderr)
                    for line in done.stderr.splitlines(keepends=True):
                        self.assert_one_clean_line(line)
                    self.assertNotIn(b"\x1b", done.stdout)
                    self.check_output(done, out)

    def check_output(self, done, out):
        """Checks that the output file is complete or absent."""
        if out is None:
            return
        left = list(self.folder.iterdir())
        for path in left:
            path.unlink()
        self.assertEqual(left, [out] if done.code == 0 else [], done.stderr)

    def test_a_sum_of_strange_profiles_is_a_profile(self):
        for path in sorted(PROFILES.glob("good-*.json")):
            with self.subTest(path.name):
                done = self.shadowprof("merge", "-q", "-o", self.profile_path, path, path)
                self.assertEqual(done.code, 0, done.stderr)
                self.assertEqual(self.shadowprof("report", self.profile_path).code, 0)
                self.profile_path.unlink()


class Enormous(TestCase):
    """Inputs that attack by their size alone."""

    def refused(self, chunks):
        """Returns the message of `report -` for the input, and checks that its memory is
        bounded."""
        with subprocess.Popen([SHADOWPROF, "report", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
            try:
                for chunk in chunks:
                    reader.stdin.write(chunk)
                reader.stdin.close()
            except BrokenPipeError:
                pass  # the reader has seen enough
            message = reader.stderr.read().decode()
            _, status, usage = os.wait4(reader.pid, 0)
            reader.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(reader.returncode, OWN_FAILURE, message[:1000])
        self.assertLess(usage.ru_maxrss * 1024, MOST_MEMORY_BYTES)
        self.assertRegex(message, r"\Ashadowprof: report: cannot use the profile '-': [^\n]{5,500}\n\Z")
        return message

    def test_a_hole(self):
        hole = self.folder / "hole"
        with open(hole, "wb") as file:
            file.truncate(1 << 30)
        done = self.shadowprof("report", hole)
        self.assertEqual(done.code, OWN_FAILURE)
        self.assertIn("byte 1:", done.stderr)

    def test_nesting(self):
        self.assertIn("nested deeper", self.refused([b'{"x":', b"[" * 1_000_000]))
        self.assertIn("nested deeper", self.refused([b'{"run":', b'{"a":' * 1_000_000]))

    def test_a_long_number(self):
        self.assertIn("overflow", self.refused([b'{"schema":', b"9" * 1_000_000, b"}"]))

    def test_a_long_string(self):
        self.assertIn("too large", self.refused([b'{"x":"', *[b"a" * MIB] * 300]))

    def test_long_lists(self):
        many = [b"1," * (MIB // 2)] * 100
        self.assertIn("/edges/0", self.refused(
            [b'{"schema":"shadowprof/1","edges":[', *many, b"1]}"]))
        self.assertIn("not a profile", self.refused([b'{"x":[', *many, b"1]}"]))
        self.assertIn("too large", self.refused([b'{"notes":[', *many, b"1]}"]))
        self.assertIn("too large", self.refused([b'{"edges":[{"x":[', *many, b"1]}]}"]))

    def test_what_never_ends(self):
        self.assertIn("too large", self.refused([b" " * MIB] * 300))


if __name__ == "__main__":
    main()
