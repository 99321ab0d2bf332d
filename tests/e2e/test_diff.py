"""diff: exact counts that repeat, false alarms of sampled profiles, true changes, limits, formats."""

import itertools
import json
import math
import os
import pathlib
import pty
import re
import subprocess

from bounds import SIGMAS
from harness import (HANG_SECONDS, SHADOWPROF, SOURCE, WORK_FACTORS, TestCase, main, once,
                     require_programs, shared_folder, victim)

KEPT, ERROR, USAGE, EXCEEDED = 0, 1, 2, 3

# An environment that is the same in each run.
FIXED = ["env", "-i", "PATH=/usr/bin:/bin"]

SOURCE_TEXT = """
#include <stdio.h>
#include <stdlib.h>
#define ALONE __attribute__((noinline, noclone))
#ifndef FIRST
#define FIRST 0
#endif
ALONE unsigned parse_number(const char* text) {
    unsigned n = 0;
    while (*text) n = n * 10 + (unsigned)(*text++ - '0');
    return n;
}
ALONE unsigned checksum(unsigned seed) {
    unsigned sum = 0;
    for (unsigned i = 0; i < CHECKS; ++i) sum = sum * 31 + (seed ^ i);
    return sum;
}
ALONE unsigned scramble(unsigned seed) {
    for (unsigned i = 0; i < SCRAMBLES; ++i) seed = seed * 1664525u + (seed >> 7);
    return seed;
}
int main(int argc, char** argv) {
    const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    unsigned sum = 0;
    for (unsigned i = 0; i < rounds; ++i) {
        char text[16];
        snprintf(text, sizeof text, "%u", FIRST + i);
        sum += checksum(parse_number(text)) ^ scramble(i);
    }
    printf("%u\\n", sum);
}
"""


class DiffCase(TestCase):
    def build(self, folder, checks=1000, scrambles=1000, text=SOURCE_TEXT, options=("-g", "-O1")):
        """Builds the program `work` in a folder of its own, like different builds of one
        program."""
        path = self.folder / folder
        path.mkdir(exist_ok=True)
        (path / "work.c").write_text(text)
        subprocess.run(["gcc", *options, f"-DCHECKS={checks}", f"-DSCRAMBLES={scrambles}",
                        "-o", path / "work", path / "work.c"], check=True)
        return path / "work"

    def run_to(self, name, options, command, fixed=True, **more):
        path = self.folder / name
        surroundings = FIXED if fixed else []
        done = self.run_command([*surroundings, SHADOWPROF, "run", "-q", "-o", str(path), *options,
                                 "--", *map(str, command)], **more)
        self.assertEqual(done.code, 0, done.stderr)
        return path

    def exact(self, name, *command):
        path = self.run_to(name, ["--mode=exact"], command)
        profile = json.loads(path.read_text())
        self.assertTrue(profile["stacks"], (profile["notes"], profile["sampling"]))
        return path

    def diff(self, *words, status=KEPT, **options):
        done = self.shadowprof("diff", *words, **options)
        self.assertEqual(done.code, status,
                         done.stderr[-1000:] + done.stdout[-1000:].decode(errors="replace"))
        return done

    def as_json(self, base, new, *limits, status=KEPT):
        words = [f"--fail-if={limit}" for limit in limits]
        return json.loads(self.diff("--format=json", "--top=0", *words, base, new,
                                    status=status).stdout)


class Exact(DiffCase):
    REPEATS = 10

    def assert_repeats(self, *command):
        """Checks that ten runs have the same counts, to the instruction."""
        first = self.exact("first.json", *command)
        for i in range(1, self.REPEATS):
            again = self.exact("again.json", *command)
            found = self.as_json(first, again, "instructions>+0", "instructions<-0", "edges>+0",
                                 "calls>+0", "function:*>+0", "function:*<-0", "entries:*>+0")
            self.assertEqual([limit["verdict"] for limit in found["limits"]], ["kept"] * 7)
            totals = {total["name"]: total for total in found["totals"]}
            self.assertGreater(totals["instructions"]["base"], 100_000)
            self.assertEqual({total["difference"] for total in found["totals"]}, {0}, f"run {i}")
            for kind in ("functions", "entries", "edges", "paths"):
                table = found[kind]
                self.assertGreater(table["same"], 10)
                self.assertEqual(table["same"], table["compared"], f"{kind} of run {i}")

    def test_a_small_program_repeats(self):
        self.assert_repeats(self.build("a"), "50")

    def test_lua_repeats_where_the_clock_stands(self):
        """Lua derives the seed of its hash function from the time of day: without a fixed time,
        its counts differ from one second to the next."""
        clock = self.folder / "clock.c"
        clock.write_text("long time(long* at) {\n    if (at) *at = 1000000000;\n"
                         "    return 1000000000;\n}\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", self.folder / "clock.so", clock],
                       check=True)
        script = self.folder / "sum.lua"
        script.write_text("local t = {}\nfor i = 1, 20000 do t[i] = i % 7 end\n"
                          "local s = 0\nfor i, v in ipairs(t) do s = s + v * i end\nprint(s)\n")
        self.assert_repeats("env", f"LD_PRELOAD={self.folder}/clock.so", "lua5.4", script)

    def test_gzip_repeats(self):
        text = self.folder / "text"
        text.write_text("".join(f"line {i * i % 977}\n" for i in range(20000)))
        self.assert_repeats("gzip", "-c", "-n", text)

    def test_a_slower_function_of_another_build_is_found_by_name(self):
        base = self.exact("base.json", self.build("a", checks=1000), "100")
        new = self.exact("new.json", self.build("b", checks=1100), "100")
        found = self.as_json(base, new, "function:check*>+5%", "function:scramble>+0",
                             "instructions>+50%", status=EXCEEDED)
        verdicts = [limit["verdict"] for limit in found["limits"]]
        self.assertEqual(verdicts, ["exceeded", "kept", "kept"])
        worst = found["functions"]["entries"][0]
        self.assertEqual((worst["name"], worst["matched_by"]), ("checksum", "function"))
        # 100 more rounds of the loop in each of 100 calls; a round has a few instructions.
        per_round = worst["difference"] / (100 * 100)
        self.assertEqual(per_round, int(per_round))
        self.assertGreater(per_round, 2)
        work = next(m for m in found["modules"] if m["path"].endswith("work"))
        self.assertFalse(work["same_build"])
        edges = [e for e in found["edges"]["entries"] if e["name"].startswith("checksum")]
        self.assertEqual(edges[0]["difference"], 100 * 100)

    def test_edges_of_code_that_moved_are_the_same(self):
        """A new function in front of the others moves them, and their source lines."""
        moved = SOURCE_TEXT.replace("ALONE unsigned parse_number", "ALONE unsigned front(void) {\n"
                                    "    return 7;\n}\nALONE unsigned parse_number", 1)
        moved = moved.replace("unsigned sum = 0;\n    for (unsigned i = 0; i < rounds",
                              "unsigned sum = front();\n    for (unsigned i = 0; i < rounds")
        base = self.exact("base.json", self.build("a"), "50")
        new = self.exact("new.json", self.build("b", text=moved), "50")
        found = self.as_json(base, new)
        named = {entry["name"]: entry for entry in found["functions"]["entries"]}
        self.assertEqual(named["front"]["finding"], "new")
        for name in ("checksum", "scramble", "parse_number"):
            self.assertEqual(named[name]["finding"], "same")
        edges = [entry for entry in found["edges"]["entries"]
                 if re.match(r"(checksum|scramble|parse_number)", entry["name"])]
        self.assertGreater(len(edges), 3)
        self.assertEqual({entry["matched_by"] for entry in edges
                          if entry["name"].split("+")[0] == "checksum"
                          and "-> checksum" in entry["name"]}, {"offset"})
        for entry in edges:
            self.assertEqual(entry["difference"], 0, entry)

    def test_values_that_changed(self):
        base_work, new_work = self.build("a", scrambles=10), self.build("b", scrambles=10, text=(
            SOURCE_TEXT.replace("unsigned sum = 0;\n    for (unsigned i = 0; i < CHECKS",
                                "unsigned sum = 1;\n    for (unsigned i = 0; i < CHECKS")))
        options = ["--mode=exact", "--profiles=edge,path,value,call"]
        base = self.run_to("base.json", options, [base_work, "30"])
        new = self.run_to("new.json", options, [new_work, "30"])
        found = self.as_json(base, new)
        self.assertGreater(found["values"]["compared"], 100)
        changed = [entry for entry in found["values"]["entries"] if entry["finding"] == "changed"]
        self.assertTrue(any(entry["name"].startswith("checksum") for entry in changed), changed[:5])


class Sampled(DiffCase):
    """Profiles of the same program differ by chance, and only by chance."""

    RUNS = 20
    ROUNDS = 400_000
    SAMPLES = 16

    def sampled(self, name, program, seed, *options, least=SAMPLES):
        """Returns a profile of a run that is long enough: a busy machine takes fewer samples of
        each."""
        for factor in WORK_FACTORS:
            path = self.run_to(name, ["--load=1", "--sample-size=200k", f"--seed={seed}", *options],
                               [program, factor * self.ROUNDS], fixed=False)
            if json.loads(path.read_text())["sampling"]["samples"] >= least:
                break
        return path

    def test_false_alarms_are_as_rare_as_promised(self):
        # All numbers have the same length, so rounds are alike however many there are.
        program = self.build("a", checks=200, scrambles=150,
                             options=("-g", "-O1", "-DFIRST=10000000"))
        # Limits on functions need no other kinds, and each profile is read more than a hundred
        # times.
        profiles = [self.sampled(f"{seed}.json", program, seed, "--profiles=edge")
                    for seed in range(self.RUNS)]
        pairs = list(itertools.permutations(profiles, 2))
        limits = ["function:checksum>+0%", "function:scramble>+0%", "function:*>+0%"]
        alarms = dict.fromkeys(limits, 0)
        for base, new in pairs:
            # One limit at a time: limits that are given together are judged together, and are
            # wider.
            for limit in limits:
                alarms[limit] += self.is_exceeded(limit, base, new)
        for limit, count in alarms.items():
            print(f"{limit}: {count} alarms of {len(pairs)} comparisons, "
                  f"{100 * count / len(pairs):.1f}%")
            self.assertLessEqual(count, max_alarms(len(profiles)), limit)
        for function in ("checksum", "scramble"):
            self.assert_spread_as_promised(profiles, function)

    def is_exceeded(self, limit, base, new):
        """Calls the program without the checks of shadowprof(), which would take longer than a
        thousand comparisons."""
        done = subprocess.run([SHADOWPROF, "diff", f"--fail-if={limit}", "--strict", base, new],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "SHADOWPROF_OPTIONS": ""}, timeout=HANG_SECONDS)
        self.assertIn(done.returncode, (KEPT, EXCEEDED), done.stderr)
        return done.returncode == EXCEEDED

    def assert_spread_as_promised(self, profiles, function):
        """Checks that shares in many profiles are as near to their mean as their own intervals
        promise."""
        shares, taken = [], []
        for profile in profiles:
            entries = self.as_json(profile, profile)["functions"]["entries"]
            base = next(e["base"] for e in entries if e["name"] == function)
            shares.append((base["value"], base["error"] / 1.96))
            taken.append(json.loads(profile.read_text())["sampling"]["ended"])
        weights = [1 / sigma**2 for _, sigma in shares]
        mean = sum(w * value for w, (value, _) in zip(weights, shares)) / sum(weights)
        spread = sum(((value - mean) / sigma)**2 for value, sigma in shares)
        print(f"{function}: {100 * mean:.3f}%, squared distances {spread:.1f} of "
              f"{len(shares) - 1} expected")
        self.assertLessEqual(spread, chi_square_bound(len(shares) - 1),
                             (function, list(zip(shares, taken))))

    def test_a_slowdown_is_found(self):
        base = self.sampled("base.json", self.build("a", checks=200, scrambles=150), 1,
                            least=64)
        new = self.sampled("new.json", self.build("b", checks=260, scrambles=150), 2,
                           least=64)
        done = self.diff("--fail-if=function:checksum>+5%", base, new, status=EXCEEDED)
        self.assertIn("checksum", done.stdout.decode())
        self.diff("--fail-if=function:scramble>+0%", base, new)
        self.diff("--fail-if=function:checksum>+50%", base, new)

    def test_too_few_samples_decide_nothing(self):
        program = self.build("a")
        # On a busy machine a short run may get no sample.
        for factor in WORK_FACTORS:
            few = [self.run_to(f"{i}.json", ["--load=1", "--max-samples=2", f"--seed={i}"],
                               [program, str(20000 * factor)], fixed=False) for i in (1, 2)]
            text = " ".join(self.diff(*few).stdout.decode().split())
            if "errors are not known" in text:
                break
        self.assertIn("errors are not known", text)
        both = ["--fail-if=function:*>+0%", "--fail-if=function:*<-0%"]
        self.assertIn("undecided", self.diff(*both, *few).stdout.decode())
        self.diff("--strict", *both, *few, status=EXCEEDED)


def max_alarms(profiles):
    """Returns the most alarms that chance explains among all ordered pairs of so many profiles. For
    a difference outside its 95% interval, one order of the pair is an alarm. Pairs that share a
    profile are not independent, so the bound is the 10^-6 tail of the binomial for disjoint pairs.
    It is wide; assert_spread_as_promised() has a narrower one for the same intervals."""
    independent, nominal = profiles // 2, 0.05
    tail = 1.0
    for most in range(independent + 1):
        tail -= math.comb(independent, most) * nominal**most * (1 - nominal)**(independent - most)
        if tail < 1e-6:
            break
    return profiles * (profiles - 1) / 2 * most / independent


def chi_square_bound(degrees):
    """Returns Wilson and Hilferty's quantile at the sigmas of bounds.py. Errors are themselves
    estimated from at least 8 batches, so their squares have a relative uncertainty of 2 / 7, which
    this allows for."""
    part = 2 / (9 * degrees)
    quantile = degrees * (1 - part + SIGMAS * math.sqrt(part))**3
    return quantile * (1 + 2 / 7)


class Latency(DiffCase):
    def test_levels_are_compared_and_limited(self):
        words = ["--profiles=edge,path,call,latency", "--budget=10%"]
        for factor in WORK_FACTORS:
            command = [victim("chase"), "random", "33554432", "small", str(4 * factor)]
            pair = []
            for name in ("1.json", "2.json"):
                pair.append(self.run_to(name, words, command, fixed=False))
                if not json.loads(pair[-1].read_text()).get("latency_host"):
                    self.skipTest("this machine has no levels")
            found = self.as_json(*pair)
            if found["levels"] is not None:
                break
        self.assertIsNotNone(found["levels"], "it has, and no load has any")
        slowest = found["levels"]["entries"][-1]["name"]
        self.as_json(*pair, f"latency.{slowest}>+1000%")
        done = self.diff("--fail-if=latency.L9>+1%", *pair, status=ERROR)
        self.assertIn(slowest, done.stderr)


class Interface(DiffCase):
    def setUp(self):
        super().setUp()
        self.base, self.new = once("interface", lambda: [
            self.exact(shared_folder() / f"{name}.json",
                       self.build(shared_folder() / name, checks=checks), "20")
            for name, checks in (("base", 100), ("new", 150))])

    def test_exit_status(self):
        self.diff(self.base, self.new)
        self.diff("--fail-if=function:checksum>+5%", self.base, self.new, status=EXCEEDED)
        self.diff(self.base, self.folder / "none", status=ERROR)
        self.diff("/etc/passwd", self.new, status=ERROR)
        self.diff(self.base, status=USAGE)
        self.diff("--nonsense", self.base, self.new, status=USAGE)
        self.diff("--format=xml", self.base, self.new, status=USAGE)
        self.diff("--top=many", self.base, self.new, status=USAGE)
        self.diff("--min-share=-1", self.base, self.new, status=USAGE)
        self.diff("-", "-", status=USAGE)
        self.diff("--help")

    def test_errors_of_limits_point_at_the_character(self):
        done = self.diff("--fail-if=function:[a>+5%", self.base, self.new, status=USAGE)
        lines = done.stderr.splitlines()
        self.assertEqual(lines[1][lines[2].index("^")], "[")

    def test_a_limit_on_no_function_names_one_that_is_near(self):
        done = self.diff("--fail-if=function:chekcsum>+5%", self.base, self.new, status=ERROR)
        self.assertIn("did you mean 'checksum'?", done.stderr)

    def test_limits_may_stand_before_the_profiles_and_repeat(self):
        done = self.diff("--fail-if", "function:checksum>+500%", "--fail-if", "instructions>+1%",
                         self.base, self.new, status=EXCEEDED)
        self.assertEqual(len(re.findall(r"^kept|^EXCEEDED", done.stdout.decode(), re.MULTILINE)), 2)

    def test_small_functions_can_be_left_out(self):
        everything, hot = (len(self.as_json(self.base, self.new)["functions"]["entries"]), json.loads(
            self.diff("--format=json", "--min-share=10%", "--fail-if=function:*>+1000%", self.base,
                      self.new).stdout)["limits"][0]["tested"])
        self.assertLess(hot, everything)
        self.assertGreater(hot, 0)

    def test_standard_input(self):
        with open(self.base, "rb") as base:
            self.diff("--fail-if=function:checksum>+5%", "-", self.new, stdin=base, status=EXCEEDED)

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = self.shadowprof("diff", self.base, self.new, stdout=full)
        self.assertEqual(done.code, ERROR)
        self.assertIn("No space left", done.stderr)

    def test_github(self):
        summary = self.folder / "summary.md"
        summary.write_text("before\n")
        done = self.diff("--format=github", "--fail-if=function:checksum>+5%",
                         "--fail-if=instructions>+1000%", self.base, self.new, status=EXCEEDED,
                         env={"GITHUB_STEP_SUMMARY": str(summary)})
        lines = done.stdout.decode().splitlines()
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r"^::error title=shadowprof%3A function%3Achecksum>\+5%25::"
                                   r"checksum: \+\d+\.\d+%25 \(\d+ -> \d+ instructions\)$")
        text = summary.read_text()
        self.assertTrue(text.startswith("before\n"))
        self.assertIn("**exceeded**", text)
        self.assertEqual(text.removeprefix("before\n"), self.diff(
            "--format=markdown", "--fail-if=function:checksum>+5%",
            "--fail-if=instructions>+1000%", self.base, self.new, status=EXCEEDED).stdout.decode())

    def test_colour_and_width_are_the_terminals(self):
        def on_terminal(**environment):
            master, slave = pty.openpty()
            subprocess.run(["stty", "cols", "70"], stdin=slave, check=True)
            done = self.shadowprof("diff", self.base, self.new, stdout=slave,
                                   env={"TERM": "xterm", **environment})
            os.close(slave)
            self.assertEqual(done.code, KEPT, done.stderr)
            chunks = []
            while True:
                try:
                    chunks.append(os.read(master, 65536))
                except OSError:
                    break
                if not chunks[-1]:
                    break
            os.close(master)
            return b"".join(chunks).decode()

        coloured = on_terminal(NO_COLOR="")
        self.assertIn("\x1b[31m", coloured)
        plain = on_terminal(NO_COLOR="1")
        self.assertNotIn("\x1b", plain)
        self.assertLessEqual(max(map(len, plain.splitlines())), 70)
        self.assertNotIn("\x1b", self.diff(self.base, self.new).stdout.decode())


class Recipe(DiffCase):
    def run_block(self, number):
        """Runs a shell block of docs/ci.md unchanged."""
        document = (SOURCE / "docs/ci.md").read_text()
        blocks = re.findall(r"^```sh\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 2)
        script = self.folder / "recipe.sh"
        script.write_text(blocks[number])
        binaries = pathlib.Path(SHADOWPROF).resolve().parent
        return self.run_command(["sh", "-eu", script],
                                env={"PATH": f"{binaries}:{os.environ['PATH']}", "CPATH": str(SOURCE / "include")})

    def test_kernels_of_google_benchmark_are_counted_each_by_itself(self):
        header = ["g++", "-fsyntax-only", "-x", "c++", "-include", "benchmark/benchmark.h", "/dev/null"]
        if self.run_command(header).code != 0:
            self.skipTest("Google Benchmark is not installed")
        done = self.run_block(1)
        out = done.stdout.decode()
        self.assertEqual(done.code, 0, out + done.stderr)
        same, _, twice = out.partition("with one that sorts twice")
        self.assertEqual(same.count("kept"), 2, out)
        self.assertNotIn("EXCEEDED", same)
        self.assertEqual(twice.count("EXCEEDED"), 1, out)
        self.assertEqual(twice.count(f"status {EXCEEDED}"), 1, out)
        self.assertEqual(twice.count("kept"), 1, out)
        parts = [json.loads((self.folder / f"base.{number:04}.json").read_text()) for number in (1, 2)]
        self.assertEqual([part["run"]["part"]["name"] for part in parts], ["BM_sort", "BM_sum"])
        # It adds up 1,000 numbers 20 times, by vectors or one by one.
        self.assertLess(20 * 250, parts[1]["sampling"]["instructions"])
        self.assertLess(parts[1]["sampling"]["instructions"], 20 * 5000)

    def test_the_recipe_of_the_document_is_true(self):
        done = self.run_block(0)
        self.assertEqual(done.code, EXCEEDED, done.stdout.decode() + done.stderr)
        out = done.stdout.decode()
        passed, _, failed = out.partition("with a slower function")
        self.assertIn("kept", passed)
        self.assertNotIn("EXCEEDED", passed)
        self.assertRegex(failed, r"EXCEEDED +function:\*>\+5% +checksum: ")


if __name__ == "__main__":
    require_programs("gcc", "gzip", "lua5.4", "stty")
    main(verbosity=2)
