"""Load latencies, which leave a program unchanged. Tests do not ask for what the machine's
counter cannot distinguish: levels are those of its own calibration."""

import subprocess
import time

import processes
from harness import SHADOWPROF, TestCase, cannot_time_loads, main, victim

CHASE = victim("chase")
# As often as possible: no test here is about the cost.
MANY = ("--profiles=latency", "--budget=50%", "--cpu-budget=100")


class Latency(TestCase):
    def chase(self, pattern, size, rounds, *options, is_enough=lambda profile: True):
        done, profile = self.profile_until(
            is_enough,
            lambda factor: (CHASE, pattern, str(size), "small", str(factor * rounds)),
            module=CHASE, options=options)
        self.assertEqual(done.code, 0, done.stderr)
        return done, profile

    def load_seen(self, pattern, size, rounds, symbol):
        """Returns the load at the symbol and a profile in which it was timed often enough."""
        def is_enough(profile):
            load = self.load_at(profile, symbol)
            return load is not None and load["count"] >= 100

        _, profile = self.chase(pattern, size, rounds, *MANY,
                                is_enough=lambda seen: is_enough(seen) or cannot_time_loads(seen))
        if not is_enough(profile):
            self.skipTest("a stop is too short for loads to be timed on this machine")
        return self.load_at(profile, symbol), profile

    def load_at(self, profile, symbol):
        for load in profile["latency"]:
            location = profile.locations[load["at"]]
            if location["address"] == hex(profile.symbols[symbol]):
                return load
        return None

    def test_a_program_does_the_same_under_many_bursts(self):
        plain = subprocess.run([str(CHASE), "buckets", "65536", "small", "400"],
                               stdout=subprocess.PIPE, check=True, timeout=300)
        done, profile = self.chase("buckets", 65536, 400, *MANY)
        self.assertEqual(done.stdout, plain.stdout)
        counters = profile["sampling"]["counters"]
        self.assertGreater(counters["latency_sessions"], 0)
        # The value that was loaded equals the value that was read afterwards.
        self.assertEqual(counters["latency_loads_changed"], 0)
        for load in profile["latency"]:
            self.assertEqual(load["count"], load["timed"] + load["reused"])
            self.assertEqual(sum(count for _, count in load["histogram"]), load["timed"])
            if profile.data.get("latency_host"):
                self.assertEqual(sum(load["levels"].values()), load["count"])

    def test_mappings_and_descriptors_are_as_before_when_it_is_let_go(self):
        target, tag = self.start([str(CHASE), "random", "16384", "small"],
                                 stdout=subprocess.PIPE)
        try:
            self.assertEqual(target.stdout.readline(), b"ready\n")
            before = processes.settled_facts(target.pid)
            done = self.run_command([str(SHADOWPROF), "attach", *MANY, "--duration=2s", "-o",
                                     "attached.json", str(target.pid)])
            self.assertEqual(done.code, 0, done.stderr)
            # No sample was asked for, so none is reported as missing.
            self.assertRegex(done.stderr, r", \d+ loads? timed; profile in ")
            self.assertNotIn("no instructions were seen", done.stderr)
            self.assertEqual(processes.facts(target.pid), before)
            cpu = time.process_time_ns()
            self.assertEqual(processes.state(target.pid), "R", cpu)
        finally:
            self._kill_all(target.pid, tag)
            target.stdout.close()
            target.wait()

    def test_addresses_tell_a_chase_from_a_stride_and_a_hash_table(self):
        # A chase has the longest rounds: each load waits for the previous one.
        truths = {"random": ("the_random_load", "chase", None, 100),
                  "stride": ("the_strided_load", "stride", 256, 400),
                  "buckets": ("the_bucket_load", "irregular", None, 400)}
        for pattern, (symbol, name, stride, rounds) in truths.items():
            with self.subTest(pattern):
                load, _ = self.load_seen(pattern, 1 << 20, rounds, symbol)
                addresses = load["addresses"]
                self.assertEqual(addresses["pattern"], name, load)
                self.assertGreater(addresses["share"], 0.9, load)
                if stride:
                    self.assertEqual(addresses["stride"], stride)

    def test_loads_of_what_fits_the_first_level_are_not_taken_for_memory(self):
        load, profile = self.load_seen("random", 16384, 500, "the_random_load")
        host = profile.data.get("latency_host")
        names = [level["name"] for level in host["levels"]] if host else []
        if len(names) < 2:
            self.skipTest("the machine, as busy as it is, has no levels that could be told apart")
        self.assertLess(2 * load["levels"][names[-1]], load["count"], (load, host))


if __name__ == "__main__":
    main()
