"""Clocks that follow a program's instructions (--clock=virtual)."""

import time

from harness import TestCase, main, require_programs, victim

# 2026-01-01 00:00 UTC, and the time since the boot, in ns.
REAL, UPTIME = 1_767_225_600_000_000_000, 1_000_000_000_000
MS = 1_000_000


class VirtualClock(TestCase):
    def clocks(self, mode, *options):
        """Returns {name: ns} as the victim sees it, in its order."""
        done, profile = self.profile(victim("clocks"), mode,
                                     options=("--mode=exact", "--clock=virtual", "--profiles=edge", *options))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(profile["sampling"]["exact"]["compared"], 0)
        return {name: int(ns) for name, ns in map(str.split, done.stdout.decode().splitlines())}

    def test_all_clocks_show_one_time(self):
        seen = self.clocks("read")
        for name in ("real", "coarse", "day"):
            self.assertTrue(0 <= seen[name] - REAL < 10 * MS, (name, seen))
        self.assertEqual(seen["time"], REAL)
        for name in ("monotonic", "boot", "call", "ticks", "ticks2", "before"):
            self.assertTrue(0 <= seen[name] - UPTIME < 10 * MS, (name, seen))
        names = ("monotonic", "boot", "call", "ticks", "ticks2", "before", "behind")
        self.assertEqual(sorted(names, key=seen.get), list(names))
        # Some 6 million instructions, 3 in a nanosecond.
        self.assertTrue(0.8 * MS < seen["behind"] - seen["before"] < 4 * MS, seen)
        # Microseconds are rounded down.
        self.assertTrue(-1000 <= seen["usage"] - seen["process"] < MS, seen)
        self.assertEqual(seen["system"], 0)
        self.assertEqual(seen["times"], UPTIME // (10 * MS))

    def test_what_clocks_show_repeats(self):
        for mode in ("read", "wait", "timed"):
            with self.subTest(mode=mode):
                first = self.clocks(mode)
                self.assertEqual(self.clocks(mode), first)
                self.assertEqual(self.clocks(mode, "--profiles=edge,value"), first)

    def test_waits_take_the_time_that_they_say(self):
        seen = self.clocks("wait")
        names = list(seen)
        for before, behind, ms in zip(names, names[1:], (20, 500_000, 30, 15, 10)):
            self.assertTrue(0 <= seen[behind] - seen[before] - ms * MS < MS, (behind, seen))

    def test_threads_do_not_wait_for_the_hosts_clock(self):
        began = time.monotonic()
        seen = self.clocks("timed")
        self.assertLess(time.monotonic() - began, 500)
        self.assertTrue(0 <= seen["alone"] - seen["begin"] - 1_000_000 * MS < MS, seen)
        self.assertTrue(0 <= seen["thread"] - seen["alone"] - 1_000_000 * MS < MS, seen)

    def test_a_childs_clock_goes_on_from_its_parents(self):
        seen = self.clocks("fork", "--follow-forks=yes")
        self.assertTrue(0 < seen["child"] - seen["parent"] < MS, seen)
        self.assertTrue(0 < seen["after"] - seen["parent"] < MS, seen)

    def test_programs_that_look_at_the_time_repeat(self):
        script = "t = os.time() c = os.clock() for i = 1, 1000 do t = t + #tostring(i) end " \
                 "s = {} for i = 1, 300 do s['x' .. i] = i end n = 0 for k, v in pairs(s) do n = n + v end print(c, t, n)"
        seen = set()
        for _ in range(2):
            done, profile = self.profile("lua5.4", "-e", script, options=("--mode=exact", "--clock=virtual"))
            self.assertEqual(done.code, 0, done.stderr)
            seen.add((done.stdout, profile["sampling"]["instructions"]))
            # Lua's hash function depends on the second.
            time.sleep(1.1)
        self.assertEqual(len(seen), 1, seen)
        self.assertEqual(profile["run"]["options"]["clock"], "virtual")

    def test_the_hardware_has_other_clocks(self):
        done = self.shadowprof("run", "--mode=exact", "--check=2%", "--clock=virtual", victim("clocks"), "read")
        self.assertEqual(done.code, 125)
        self.assertIn("exclude each other", done.stderr)

    def test_samples_have_the_hosts_clock(self):
        done = self.shadowprof("run", "--clock=virtual", victim("clocks"), "read")
        self.assertEqual(done.code, 125)
        self.assertIn("--clock=virtual needs --mode=exact", done.stderr)
        done = self.shadowprof("run", "--mode=exact", "--clock=slow", victim("clocks"), "read")
        self.assertEqual(done.code, 125)


if __name__ == "__main__":
    require_programs("lua5.4")
    main()
