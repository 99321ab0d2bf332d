"""Calls of allocators by their callers, for a victim whose true counts are known: see the comment in
tests/victims/allocations.c."""

import collections

from harness import TestCase, main, victim

OPTIONS = ("--mode=exact", "--profiles=alloc")
# Of each function of the victim, in a round: calls, bytes.
ROUND = {
    "take_small": (5, 5 * 24),
    "take_cleared": (1, 150),
    "take_object": (1, 100),
    "take_array": (1, 200),
    "take_aligned": (1, 640),
    "take_too_much": (1, 0),
    "take_growing": (3, 6000),
    "take_posix": (1, 320),
}


class Allocations(TestCase):
    def by_caller(self, profile):
        """Returns {function of the victim that calls an allocator: (calls, bytes)}."""
        found = collections.defaultdict(lambda: (0, 0))
        for each in profile["allocations"]:
            if not each["callers"]:
                continue
            place = profile.locations[each["callers"][0]]
            if place["module"] != profile.module:
                continue
            function = place.get("function", "")
            if function.startswith("take_"):
                more = each["calls"], each["bytes"]
                found[function] = tuple(map(sum, zip(found[function], more)))
        return dict(found)

    def exact(self, rounds, *options):
        done, profile = self.profile(victim("allocations"), str(rounds), options=(*OPTIONS, *options),
                                     module=victim("allocations"))
        self.assertEqual(done.code, 0, done.stderr)
        return profile

    def expected(self, rounds):
        return {name: (calls * rounds, size * rounds) for name, (calls, size) in ROUND.items()}

    def test_exact_runs_see_each_call(self):
        for options in ((), ("--check=100%",), ("--profiles=alloc,stack,value,syscall",)):
            with self.subTest(options=options):
                profile = self.exact(7, *options)
                self.assertEqual(self.by_caller(profile), self.expected(7))

    def test_totals_are_those_of_all_callers(self):
        profile = self.exact(3)
        counters = profile["sampling"]["counters"]
        for counter, field in (("allocations", "calls"), ("allocated_bytes", "bytes")):
            self.assertEqual(counters[counter], sum(each[field] for each in profile["allocations"]))

    def test_an_allocator_is_named_and_has_callers(self):
        profile = self.exact(3)
        of_array = [each for each in profile["allocations"] if each["bytes"] == 600]
        self.assertEqual(len(of_array), 1)
        self.assertEqual(profile.locations[of_array[0]["function"]]["function"], "operator new[](unsigned long)")
        callers = [profile.locations[caller].get("function") for caller in of_array[0]["callers"]]
        self.assertEqual(callers[0], "take_array")
        self.assertIn("main", callers)

    def test_samples_see_them_in_their_proportion(self):
        for mode in ("shadow", "live"):
            with self.subTest(mode=mode):
                done, profile = self.profile_until(
                    lambda profile: self.by_caller(profile).get("take_small", (0, 0))[0] >= 500,
                    lambda factor: (victim("allocations"), str(3000 * factor)), module=victim("allocations"),
                    options=(f"--mode={mode}", "--profiles=alloc", "--budget=30%", "--sample-size=1M"))
                self.assertEqual(done.code, 0, done.stderr)
                found = self.by_caller(profile)
                for name in ("take_cleared", "take_object", "take_array", "take_aligned", "take_posix"):
                    calls, size = found[name]
                    # Both are scaled and rounded.
                    self.assertAlmostEqual(size / ROUND[name][1], calls, delta=1)
                    self.assertAlmostEqual(calls / found["take_growing"][0], 1 / 3, delta=0.15)

    def test_they_are_told_of_only_if_asked_for(self):
        done, profile = self.profile(victim("allocations"), "2", options=("--mode=exact", "--profiles=edge"))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(profile["allocations"], [])
        self.assertNotIn("allocations", profile["sampling"]["counters"])

    def test_diff_limits_them(self):
        paths = []
        for rounds in (10, 11):
            self.exact(rounds)
            paths.append(self.folder / f"{rounds}.json")
            self.profile_path.rename(paths[-1])
        limit = lambda text: self.shadowprof("diff", f"--fail-if={text}", *paths)
        self.assertEqual(limit("alloc.bytes>+7k").code, 3)
        self.assertEqual(limit("alloc.bytes>+9k").code, 0)
        self.assertEqual(limit("alloc.calls>+13").code, 3)
        self.assertEqual(limit("alloc.calls>+50").code, 0)
        self.assertIn("alloc.frees", limit("alloc.frees>+0").stderr)
        done, _ = self.profile(victim("allocations"), "2", options=("--mode=exact", "--profiles=edge"))
        self.assertEqual(done.code, 0, done.stderr)
        refused = self.shadowprof("diff", "--fail-if=alloc.bytes>+0", paths[0], self.profile_path)
        self.assertIn("--profiles=alloc", refused.stderr)

    def test_reports_pages_and_tables_have_them(self):
        self.exact(100)
        report = self.shadowprof("report", "--by=alloc", "--top=0", self.profile_path)
        self.assertEqual(report.code, 0, report.stderr)
        line = next(line for line in report.stdout.decode().splitlines() if "take_array" in line)
        self.assertIn("operator new[]  100 calls", line)
        csv = self.shadowprof("export", "--format=csv", "--table=allocations", self.profile_path)
        self.assertEqual(csv.code, 0, csv.stderr)
        self.assertIn("bytes", csv.stdout.decode().splitlines()[0])
        tables = self.page_parts()["kinds"]["tables"]
        self.assertEqual([table["word"] for table in tables], ["alloc"])


if __name__ == "__main__":
    main()
