"""Which parts of a program count in exact mode: by its own requests, and by functions."""

import json
import re

from harness import SOURCE, TestCase, main, require_programs, victim

VICTIM = victim("regions")
# Two of three calls end by an exception, in their caller and two calls above.
THROWING = """
extern "C" void regions_loop(unsigned long turns);
[[gnu::noinline]] static int throws(int depth) {
    regions_loop(10);
    if (depth == 0) throw 1;
    return depth == 9 ? 0 : throws(depth - 1) + 1;
}
static int calls(int depth) {
    try {
        return throws(depth);
    } catch (int) {
        regions_loop(300);
        return 1;
    }
}
int main() {
    regions_loop(4000);
    const int sum = calls(0) + calls(9) + calls(3);
    regions_loop(4000);
    return sum != 2;
}
"""


class Regions(TestCase):
    @staticmethod
    def turns(profile):
        """Returns how often the victim's loop was executed."""
        return sum(edge["count"] for edge in profile["edges"]
                   if profile.name(edge["to"]) == "regions_turn")

    def regions(self, mode, *options, code=0):
        """Returns what the victim printed, its turns by part, and the profile."""
        done, profile = self.profile(VICTIM, mode, options=("--mode=exact", *options), module=VICTIM)
        self.assertEqual(done.code, code, done.stderr)
        parts = {}
        for path in sorted(self.profile_path.parent.glob(f"{self.profile_path.stem}.0*")):
            part = self.read_profile(VICTIM, path.read_text())
            self.assertEqual(part["sampling"]["mode"], "exact")
            parts[part["run"]["part"]["name"]] = self.turns(part)
            path.unlink()
        self.assertNotIn("part", profile["run"])
        return done.stdout.decode().split(), parts, profile

    def test_requests_of_its_own_header(self):
        for check in ("0", "100%"):
            with self.subTest(check=check):
                printed, parts, profile = self.regions("own", "--count-at-start=no",
                                                       f"--check={check}")
                self.assertEqual(printed, ["1", "1"])
                self.assertEqual(self.turns(profile), 4320)
                self.assertEqual(parts, {"first of two": 20, "second": 300})
                self.assertEqual(profile["sampling"]["exact"]["diverged"], 0)
                notes = "\n".join(profile["notes"])
                self.assertRegex(notes, r"part 1 'first of two': [0-9]+ instructions, in ")

    def test_without_options_all_counts_until_it_stops(self):
        _, parts, profile = self.regions("own")
        self.assertEqual(self.turns(profile), 4320)
        self.assertEqual(parts, {"first of two": 20, "second": 300})

    def test_requests_of_callgrind(self):
        _, parts, profile = self.regions("callgrind", "--count-at-start=no")
        self.assertEqual(self.turns(profile), 320)
        self.assertEqual(parts, {"twenty": 20, "": 300})

    def test_zero_forgets(self):
        _, parts, profile = self.regions("zero")
        self.assertEqual(parts, {"before": 1, "behind": 300})
        self.assertEqual(self.turns(profile), 4300)
        self.assertIn("set the counts to zero", "\n".join(profile["notes"]))

    def test_toggles(self):
        _, _, profile = self.regions("toggle")
        self.assertEqual(self.turns(profile), 301)

    def test_natively_requests_do_nothing(self):
        done = self.run_command([VICTIM, "own"])
        self.assertEqual((done.code, done.stdout), (0, b"0 7\n"))
        done, profile = self.profile(VICTIM, "own", options=("--max-samples=1",), module=VICTIM)
        self.assertEqual((done.code, done.stdout), (0, b"0 7\n"))

    def test_requests_that_do_nothing_are_told(self):
        _, _, profile = self.regions("wrong", "--count-at-start=no")
        notes = "\n".join(profile["notes"])
        self.assertIn("nothing was counted: the program did not ask to start", notes)
        self.assertIn("2 requests to stop counting came while nothing was counted", notes)
        self.assertEqual(profile["sampling"]["instructions"], 0)

    def test_requests_that_are_not_known_get_their_default(self):
        printed, _, profile = self.regions("call")
        self.assertEqual(printed, ["7", "8"])
        self.assertIn("1 request to call a function outside", "\n".join(profile["notes"]))

    def test_threads(self):
        _, _, profile = self.regions("threads", "--count-at-start=no")
        self.assertEqual(self.turns(profile), 320)

    def test_children_begin_as_the_program_does(self):
        _, _, profile = self.regions("child", "--count-at-start=no", "--follow-forks=yes")
        self.assertEqual(self.turns(profile), 320)

    def test_another_program_begins_anew(self):
        _, _, profile = self.regions("exec", "--count-at-start=no")
        self.assertEqual(self.turns(profile), 20)

    def test_functions(self):
        for check in ("0", "100%"):
            with self.subTest(check=check):
                _, _, profile = self.regions("functions", "--count-in=counted_and_rec*",
                                             f"--check={check}")
                self.assertEqual(self.turns(profile), 60)
                _, _, profile = self.regions("functions", "--count-in=counted_and_*",
                                             f"--check={check}")
                self.assertEqual(self.turns(profile), 360)
        _, _, profile = self.regions("functions", "--count-in=regions_loop", "--count-in=main")
        self.assertEqual(self.turns(profile), 366)

    def test_functions_that_are_left_by_exceptions(self):
        require_programs("c++")
        folder = self.profile_path.parent
        program = folder / "throws"
        (folder / "throws.cc").write_text(THROWING)
        done = self.run_command(["c++", "-O1", "-fno-inline", folder / "throws.cc", SOURCE / "tests/victims/regions.S",
                                 "-o", program])
        self.assertEqual(done.code, 0, done.stderr)
        done, profile = self.profile(program, options=("--mode=exact", "--count-in=throws*"),
                                     module=program)
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(self.turns(profile), 60)

    def test_functions_count_in_every_kind(self):
        for kinds in ("edge,path,stack,branch,syscall", "edge,value", "edge,cache", "edge,hazard"):
            with self.subTest(kinds=kinds):
                _, _, profile = self.regions("functions", "--count-in=counted_and_rec*",
                                             f"--profiles={kinds}")
                self.assertEqual(self.turns(profile), 60)
                for branch in profile.data.get("branches", []):
                    if branch["kind"] == "conditional" and profile.name(branch["at"]) == "regions_jump":
                        self.assertEqual(branch["executions"], 60)

    def test_calls_before_a_counted_function_are_in_its_stacks(self):
        _, _, profile = self.regions("functions", "--count-in=regions_loop",
                                     "--profiles=edge,stack")
        functions = {stack["frames"][-1] for stack in profile["stacks"]}
        self.assertEqual([profile.name(each) for each in functions], ["regions_loop"])
        # main, counted_and_recursive, counted_and_left and counted_thread called it.
        sites = {stack["frames"][-2] for stack in profile["stacks"]}
        self.assertGreaterEqual(len(sites), 4)

    def test_functions_that_are_never_called(self):
        _, _, profile = self.regions("functions", "--count-in=nowhere")
        self.assertEqual(profile["sampling"]["instructions"], 0)
        self.assertIn("no function that --count-in names was called", "\n".join(profile["notes"]))

    def test_parts_are_parts_of_a_callgrind_file(self):
        self.profile(VICTIM, "own", options=("--mode=exact", "--count-at-start=no"), module=VICTIM)
        parts = sorted(self.profile_path.parent.glob(f"{self.profile_path.stem}.0*"))
        done = self.shadowprof("export", "--format=callgrind", *parts)
        self.assertEqual(done.code, 0, done.stderr)
        text = done.stdout.decode()
        self.assertEqual(re.findall(r"^part: (.*)$", text, re.M), ["1", "2"])
        self.assertEqual(re.findall(r"^desc: Trigger: Client Request: (.*)$", text, re.M),
                         ["first of two", "second"])
        sums = [int(number) for number in re.findall(r"^totals: (.*)$", text, re.M)]
        instructions = [json.loads(path.read_text())["sampling"]["instructions"] for path in parts]
        self.assertEqual(sums, instructions)
        # Each number stands for one name in the whole file.
        names = re.findall(r"^c?fn=\((\d+)\) (.+)$", text, re.M)
        self.assertEqual(len(names), len({number for number, _ in names}))
        done = self.shadowprof("export", "--format=folded", *parts)
        self.assertEqual(done.code, 125)
        self.assertIn("takes one profile", done.stderr)

    def test_samples_have_no_regions(self):
        done = self.shadowprof("run", "--count-in=main", "/bin/true")
        self.assertEqual(done.code, 125)
        self.assertIn("--count-at-start and --count-in need --mode=exact", done.stderr)
        done = self.shadowprof("run", "--mode=exact", "--count-in=f[", "/bin/true")
        self.assertEqual(done.code, 125)
        self.assertIn("is not closed", done.stderr)


if __name__ == "__main__":
    main()
