"""Looks at running threads: where the time goes."""

import bisect
import math

from harness import TestCase, main, victim

SHARES = {"serving_most": 0.6, "serving_some": 0.3, "serving_little": 0.1}
# Enough to tell the functions apart.
LOOKS = 60
# Standard deviations. A correct share lies outside once in a few million times.
DEVIATIONS = 5


def looks(profile, where=""):
    return profile["sampling"]["counters"].get("looks" + where, 0)


class Looks(TestCase):
    def looked_at(self, *words, kinds="path", method="yes"):
        """Profiles ever more work until there were enough looks at the program's code."""
        program = victim("serving")

        def enough(profile):
            return looks(profile) - looks(profile, "_in_kernel") >= LOOKS

        done, profile = self.profile_until(
            enough, lambda factor: (program, *words, str(60_000 * factor)), module=program,
            options=("--budget=1", f"--profiles={kinds}", f"--looks={method}"))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertTrue(enough(profile), profile["sampling"]["counters"])
        return profile

    def assert_shares(self, profile):
        """What was looked at has the shares of the functions, within what chance explains."""
        starts = sorted((address, name) for name, address in profile.symbols.items())
        found = dict.fromkeys(SHARES, 0)
        for each in profile["times"]:
            at = profile.locations[each["at"]]
            if at["module"] != profile.module:
                continue
            before = bisect.bisect_right(starts, int(at["address"], 16), key=lambda each: each[0])
            name = starts[before - 1][1] if before else None
            if name in found:
                found[name] += each["time_ns"]
        whole = sum(found.values())
        counted = looks(profile) - looks(profile, "_in_kernel")
        for name, share in SHARES.items():
            error = math.sqrt(share * (1 - share) / counted)
            self.assertAlmostEqual(found[name] / whole, share, delta=DEVIATIONS * error + 0.02,
                                   msg=f"{found}, {counted} looks")

    def stacks_of(self, profile, function):
        """The time and the names of the functions of the stacks that end in a function."""
        for stack in profile["stacks"]:
            names = [profile.locations[frame].get("function") for frame in stack["frames"]]
            if names[-1] == function and stack.get("time_ns"):
                yield stack["time_ns"], names

    def test_a_server_that_is_scheduled_all_the_time(self):
        profile = self.looked_at("client")
        self.assert_shares(profile)
        # It executes system calls for much of its time.
        self.assertGreater(looks(profile, "_in_kernel"), 0)

    def test_a_program_that_computes(self):
        profile = self.looked_at("alone")
        self.assert_shares(profile)
        self.assertLess(looks(profile, "_in_kernel"), looks(profile) / 10)
        summary = self.shadowprof("report", self.profile_path).stdout.decode()
        self.assertIn(" looks: ", summary)

    def test_a_program_that_computes_by_stops(self):
        """As where the kernel's clock is not for us."""
        profile = self.looked_at("alone", method="stops")
        self.assert_shares(profile)
        self.assertEqual(looks(profile, "_by_clock"), 0)

    def test_stacks_have_their_callers_and_the_same_time_as_functions(self):
        profile = self.looked_at("alone", kinds="stack")
        of_stacks = dict.fromkeys(SHARES, 0)
        for name in SHARES:
            for time_ns, names in self.stacks_of(profile, name):
                of_stacks[name] += time_ns
                self.assertIn("main", names)
        of_functions = {profile.locations[method["entry"]].get("function"): method.get("time_ns", 0)
                        for method in profile["methods"]}
        for name in SHARES:
            self.assertEqual(of_stacks[name], of_functions[name])
        folded = self.shadowprof("export", "--format=folded", "--weight=time", self.profile_path)
        sums = dict.fromkeys(SHARES, 0)
        for line in folded.stdout.decode().splitlines():
            stack, time_ns = line.rsplit(" ", 1)
            name = stack.rsplit(";", 1)[-1]
            if name in sums:
                sums[name] += int(time_ns)
        self.assertEqual(sums, of_stacks)

    def test_the_kernel_works_for_the_caller_of_its_call(self):
        done, profile = self.profile_until(
            lambda profile: looks(profile, "_in_kernel") >= 5,
            lambda factor: ("dd", "if=/dev/urandom", "of=/dev/null", "bs=1M", f"count={100 * factor}"),
            options=("--budget=1", "--profiles=stack"))
        self.assertEqual(done.code, 0, done.stderr)
        found = list(self.stacks_of(profile, "sys_read"))
        self.assertGreater(sum(time_ns for time_ns, _ in found),
                           sum(each["time_ns"] for each in profile["times"]) / 2)
        # dd has no symbols of its own; its callers are in the C library and in dd.
        self.assertTrue(all(len(names) > 1 for _, names in found))
        by_time = self.shadowprof("report", "--weight=time", self.profile_path).stdout.decode()
        self.assertIn("sys_read", by_time)


if __name__ == "__main__":
    main()
