"""Where threads sleep, beside what a program knows of its own waits."""

import csv
import io
import math

from harness import TestCase, main, victim

# By the name of the thread: the system calls in which it may wait, and the function that waits.
# A call that was interrupted by a stop is restarted, which is a call of its own.
WAITS = {
    "sleeper": (("clock_nanosleep", "restart_syscall"), "wait_for_time"),
    "reader": (("read",), "wait_for_pipe"),
    "locker": (("futex",), "wait_for_lock"),
}
# Enough to know the shares well.
LOOKS = 120
# Standard deviations. A correct share lies outside once in a few million times.
DEVIATIONS = 5


def by_thread(profile):
    waits = {}
    for each in profile["waits"]:
        waits.setdefault(each["thread"], []).append(each)
    return waits


def total(waits, member):
    return sum(each[member] for each in waits)


class Waits(TestCase):
    def profile_of_waits(self, *options):
        program = victim("waits")

        def enough(profile):
            return total(by_thread(profile).get("reader", []), "looks") >= LOOKS

        return self.profile_until(enough, lambda factor: (program, str(400 * factor)), module=program,
                                  options=options)

    def test_threads_wait_where_they_do_for_as_long_as_they_say(self):
        done, profile = self.profile_of_waits("--profiles=wait")
        self.assertEqual(done.code, 0, done.stderr)
        truths = dict(line.split() for line in done.stdout.decode().splitlines())
        waits = by_thread(profile)
        looks = total(waits["reader"], "looks")
        ns = profile["run"]["seconds"] * 1e9
        # Behind a wait, a thread may have to wait for a processor, which it cannot tell apart.
        ready = profile["sampling"]["counters"]["waits_ready_ns"] / ns
        for name, (calls, function) in WAITS.items():
            with self.subTest(name):
                share, truth = total(waits[name], "time_ns") / ns, float(truths[name])
                error = DEVIATIONS * math.sqrt(truth * (1 - truth) / looks) + 0.06
                self.assertLess(share, truth + error)
                self.assertGreater(share, truth - error - ready)
                right = [each for each in waits[name] if each["call"] in calls and any(
                    profile.locations[caller].get("function") == function for caller in each["callers"])]
                self.assertGreater(total(right, "time_ns"), 0.9 * total(waits[name], "time_ns"))

    def test_views_show_them(self):
        done, profile = self.profile_of_waits()
        self.assertEqual(done.code, 0, done.stderr)
        summary = self.shadowprof("report", self.profile_path).stdout.decode()
        self.assertRegex(summary, r"waits +[0-9.]+ s asleep: ")
        listed = self.shadowprof("report", "--by=wait", self.profile_path).stdout.decode()
        self.assertRegex(listed, r"%  +[0-9.]+ s  read  reader .*wait_for_pipe")
        table = self.shadowprof("export", "--format=csv", "--table=waits", self.profile_path).stdout.decode()
        rows = list(csv.DictReader(io.StringIO(table)))
        self.assertEqual(sum(int(row["time_ns"]) for row in rows), total(profile["waits"], "time_ns"))

    def test_exact_mode_has_none_and_says_so(self):
        done, profile = self.profile(victim("edges"), options=("--mode=exact", "--profiles=edge,wait"))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertTrue(any(note.startswith("waits are not collected") for note in profile["notes"]))
        self.assertEqual(profile["waits"], [])


if __name__ == "__main__":
    main()
