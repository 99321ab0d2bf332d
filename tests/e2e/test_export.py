"""Exports, as their readers understand them. Readers that are not installed are not tested."""

import csv
import gzip
import io
import json
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import TestCase, main, once, shared_folder, victim

BOLT_TOOLS = "/usr/lib/llvm-16/bin"
# Instructions behind a system call that never returns, up to the next branch.
BEHIND_EXIT = 8
# In sample profiles, offsets from this one on are lines before the function.
NO_LINE = 0xff00


def tool(name):
    path = shutil.which(name) or shutil.which(name, path=BOLT_TOOLS)
    if path is None:
        raise unittest.SkipTest(f"{name} is not installed")
    return path


class Export(TestCase):
    EIGHTS = 1000

    def setUp(self):
        super().setUp()
        self.seen, made = once("edges", self.profile_edges)
        shutil.copy(made, self.profile_path)
        self.instructions = self.seen["sampling"]["target_instructions"]

    def profile_edges(self):
        done, seen = self.profile(victim("edges"), str(self.EIGHTS), options=("--mode=exact",),
                                  module=victim("edges"))
        self.assertEqual(done.code, 0, done.stderr)
        return seen, shutil.copy(self.profile_path, shared_folder())

    def export(self, form, *options):
        done = self.shadowprof("export", f"--format={form}", *options, self.profile_path)
        self.assertEqual(done.code, 0, done.stderr)
        return done.stdout

    def exported_file(self, form, *options):
        path = self.folder / f"exported.{form}"
        self.export(form, "-o", path, *options)
        return path

    def read_by(self, *command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                              errors="replace")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def function(self, name):
        """Returns the instructions in a function itself."""
        return sum(stack["instructions"] for stack in self.seen["stacks"]
                   if self.seen.locations[stack["frames"][-1]]["function"] == name)

    def test_folded_stacks_add_up(self):
        lines = self.export("folded").decode().splitlines()
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in lines), self.instructions)
        self.assertTrue(any(";main;edges_run;edges_leaf " in line for line in lines))

    def test_csv_is_read_back(self):
        rows = list(csv.DictReader(io.StringIO(self.export("csv").decode(), newline="")))
        counts = {row["function"]: int(row["instructions"]) for row in rows}
        self.assertEqual(counts["edges_run"], self.function("edges_run"))
        top = self.export("csv", "--top=2").splitlines()
        self.assertEqual(top, self.export("csv").splitlines()[:3])
        edges = list(csv.DictReader(io.StringIO(
            self.export("csv", "--table=edges", "--top=3").decode(), newline="")))
        self.assertEqual([int(row["count"]) for row in edges],
                         [edge["count"] for edge in self.seen["edges"][:3]])

    def test_speedscope_adds_up(self):
        data = json.loads(self.export("speedscope"))
        profile = data["profiles"][0]
        self.assertEqual(sum(profile["weights"]), self.instructions)
        self.assertEqual(profile["endValue"], self.instructions)
        self.assertEqual(len(profile["samples"]), len(profile["weights"]))
        last = max(frame for sample in profile["samples"] for frame in sample)
        self.assertEqual(last, len(data["shared"]["frames"]) - 1)

    def test_callgrind_counts_what_was_executed(self):
        text = self.export("callgrind").decode()
        total = int(re.search(r"^totals: (\d+)$", text, re.M)[1])
        self.assertGreaterEqual(total, self.instructions)
        self.assertLessEqual(total, self.instructions + BEHIND_EXIT)
        taken, executed = 6 * self.EIGHTS, 8 * self.EIGHTS
        self.assertIn(f"jcnd={taken}/{executed} ", text)

    def test_callgrind_annotate_reads_it(self):
        path = self.exported_file("callgrind")
        text = self.read_by(tool("callgrind_annotate"), "--threshold=100", path)
        self.assertNotIn("WARNING", text)
        counts = {name: int(count.replace(",", "")) for count, name in
                  re.findall(r"^\s*([\d,]+) \([ \d.]+%\)\s+\S+:(edges_\w+)", text, re.M)}
        for name in ("edges_run", "edges_leaf", "edges_odd", "edges_even"):
            self.assertEqual(counts[name], self.function(name), name)

    def test_pprof_is_a_gzip_file_of_its_names(self):
        content = gzip.decompress(self.exported_file("pprof").read_bytes())
        self.assertIn(b"edges_leaf", content)

    def test_go_pprof_reads_it(self):
        text = self.read_by(tool("go"), "tool", "pprof", "-top", "-nodefraction=0",
                            self.exported_file("pprof"))
        self.assertIn(f"of {self.instructions} total", text)
        self.assertRegex(text, rf"\b{self.function('edges_run')} .* edges_run\n")

    def build(self, *flags):
        program = self.folder / "program"
        self.read_by(tool("gcc"), "-O2", "-g", "-Wl,--emit-relocs", *flags, self.source, "-o", program)
        done, _ = self.profile(program, options=("--mode=exact",))
        self.assertEqual(done.code, 0, done.stderr)
        return program

    @property
    def source(self):
        path = self.folder / "program.c"
        path.write_text("""
            #include <stdio.h>
            __attribute__((noinline)) int rare(int x) { volatile int y = x * 3; return y + 1; }
            __attribute__((noinline)) int loop(int n) {
                int sum = 0;
                for (int i = 0; i < n; ++i)
                    if (i % 100 == 7) sum += rare(i); else sum ^= i;
                return sum;
            }
            int main(void) { return printf("%d\\n", loop(10000)) < 0; }
        """)
        return path

    def test_perf2bolt_reads_it_wherever_the_program_is_linked_to(self):
        perf2bolt = shutil.which("perf2bolt", path=BOLT_TOOLS) or tool("perf2bolt")
        for flags in (("-pie", "-fPIE"), ("-no-pie", "-fno-pie")):
            program = self.build(*flags)
            branches = self.exported_file("bolt", "--module=program")
            out = self.folder / "program.fdata"
            self.read_by(perf2bolt, program, "-p", branches, "-pa", "-o", out)
            lines = out.read_text().splitlines()
            calls = [line.split() for line in lines if re.match(r"1 loop \w+ 1 rare 0 ", line)]
            self.assertEqual([int(call[-1]) for call in calls], [100], lines)

    def test_llvm_profgen_reads_it_wherever_the_program_is_linked_to(self):
        profgen = tool("llvm-profgen-16")
        for flags in (("-pie", "-fPIE"), ("-no-pie", "-fno-pie")):
            program = self.build(*flags)
            out = self.folder / "program.prof"
            self.read_by(profgen, "--binary", program, "--format=text", "-o", out,
                         "--unsymbolized-profile",
                         self.exported_file("llvm-profgen", "--module=program"))
            self.assertRegex(out.read_text(), r"(?m)^rare:\d+:100$")

    SAMPLED = """
        #include <cstdio>
        [[gnu::noinline]] static int rare(int x) { volatile int y = x * 3; return y + 1; }
        static inline int step(int sum, int i) {
            if (i % 100 == 7)
                return sum + rare(i);
            return sum ^ i;
        }
        [[gnu::noinline]] int loop(int n) {
            int sum = 0;
            for (int i = 0; i < n; ++i)
                sum = step(sum, i);
            return sum;
        }
        int main() { std::printf("%d\\n", loop(10000)); }
    """
    FOR_SAMPLES = ("-O2", "-gmlt", "-fdebug-info-for-profiling")

    def sampled_program(self):
        """Returns a program compiled by clang and its sample profile in LLVM's text format. The
        test's profile becomes that program's."""
        clang, made = tool("clang++"), shared_folder() / "sampled.json"
        source, program, text = once("sampled", lambda: self.make_sampled_program(clang, made))
        shutil.copy(made, self.profile_path)
        return source, program, text

    def make_sampled_program(self, clang, made):
        source, program = shared_folder() / "sampled.cc", shared_folder() / "sampled"
        source.write_text(self.SAMPLED)
        self.read_by(clang, *self.FOR_SAMPLES, source, "-o", program)
        done, _ = self.profile(program, options=("--mode=exact",))
        self.assertEqual(done.code, 0, done.stderr)
        shutil.copy(self.profile_path, made)
        text = self.exported_file("llvm-sample", "--module=sampled")
        return source, program, pathlib.Path(shutil.copy(text, shared_folder()))

    def test_llvm_sample_has_executions_by_line_and_inlined_call(self):
        profile = self.sampled_program()[2]
        text = self.read_by(tool("llvm-profdata"), "merge", "--sample", "--text", profile, "-o", "-")
        self.assertRegex(text, r"(?m)^_Z4loopi:\d+:1$")
        self.assertRegex(text, r"(?m)^_ZL4rarei:\d+:100$")
        self.assertRegex(text, r"(?m)^ 3: _ZL4stepii:\d+$")
        self.assertRegex(text, r"(?m)^  2: 100 _ZL4rarei:100$")
        self.assertNotRegex(text, r"(?m)^_ZL4stepii:")

    @staticmethod
    def sample_counts(path):
        """Returns executions by function, inlined calls and line of a text profile. Leaves out
        executions of 0, and code without a line, which llvm-profgen puts that many lines before
        the function."""
        counts, around = {}, []
        for line in path.read_text().splitlines():
            depth = len(line) - len(line.lstrip())
            if depth == 0:
                around = [line.split(":")[0]]
            elif re.match(r" +[\d.]+: \D", line):
                around = [*around[:depth], *line.split()[:2]]
                around[depth:] = [":".join(around[depth:]).rpartition(":")[0]]
            elif int(line.split()[1]) > 0 and float(line.split(":")[0]) < NO_LINE:
                counts[*around[:depth], line.split()[0]] = int(line.split()[1])
        return counts

    def test_llvm_profgen_counts_the_same(self):
        _, program, profile = self.sampled_program()
        theirs = self.folder / "profgen.prof"
        self.read_by(tool("llvm-profgen-16"), "--binary", program, "--format=text", "-o", theirs,
                     "--unsymbolized-profile", self.exported_file("llvm-profgen", "--module=sampled"))
        ours = self.sample_counts(profile)
        self.assertTrue(any(len(place) > 2 for place in ours), ours)
        self.assertEqual(ours, self.sample_counts(theirs))

    def test_clang_optimizes_by_the_sample_profile(self):
        source, _, profile = self.sampled_program()
        text = self.read_by(tool("clang++"), *self.FOR_SAMPLES, "-S", "-emit-llvm", "-o", "-", "-Wall", "-Wextra",
                            f"-fprofile-sample-use={profile}", "-Rpass=sample-profile", source)
        self.assertNotIn("warning", text)
        self.assertIn("inlined into '_Z4loopi' to match profiling context", text)
        # LLVM adds 1 to each count.
        def entries(function):
            mark = re.search(rf"^define .*@{function}\(.* !prof (!\d+)", text, re.M)[1]
            return int(re.search(rf'^{mark} = .*"function_entry_count", i64 (\d+)', text, re.M)[1])
        self.assertEqual((entries("_Z4loopi"), entries("_ZL4rarei")), (2, 101))
        weights = [sorted(map(int, pair)) for pair in re.findall(
            r'"branch_weights", i32 (\d+), i32 (\d+)', text)]
        self.assertIn([101, 9901], weights)

    def test_llvm_sample_without_lines_is_refused(self):
        program = self.folder / "program"
        self.read_by(tool("gcc"), "-O2", self.source, "-o", program)
        self.profile(program, options=("--mode=exact",))
        self.assertIn("-fdebug-info-for-profiling",
                      self.refused("--format=llvm-sample", "--module=program"))

    def refused(self, *words):
        done = self.shadowprof("export", *words, self.profile_path)
        self.assertEqual((done.code, done.stdout), (125, b""))
        return done.stderr

    def test_what_cannot_be_is_refused_with_a_remedy(self):
        self.assertIn("did you mean 'folded'", self.refused("--format=foldet"))
        self.assertIn("--top cannot be used with --format=bolt", self.refused("--format=bolt", "--top=3"))
        self.assertIn("its files are", self.refused("--format=bolt", "--module=nothing"))
        self.assertIn("--module cannot be used with --format=folded", self.refused("--format=folded", "--module=edges"))

    def test_another_build_is_refused(self):
        program = self.build("-pie", "-fPIE")
        self.read_by(tool("gcc"), "-O1", self.source, "-o", program)
        self.assertIn("another build", self.refused("--format=bolt", "--module=program"))
        program.unlink()
        self.assertIn("No such file", self.refused("--format=bolt", "--module=program"))


if __name__ == "__main__":
    main()
