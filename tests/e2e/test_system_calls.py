"""System calls by their callers, for a victim whose true counts are known by construction: see
the comment in tests/victims/system_calls.S."""

import collections
import json

from harness import TestCase, main, require_programs, victim

OPTIONS = ("--profiles=syscall",)
# Labels of the return addresses, innermost first: the system call, and how often an iteration makes
# it.
CALLS = {
    ("calls_first_return", "calls_often_return"): ("getppid", 1),
    ("calls_second_return", "calls_often_return"): ("getppid", 1),
    ("calls_third_return", "calls_often_return"): ("getppid", 1),
    ("calls_only_return", "calls_seldom_return"): ("getuid", 1),
}


class SystemCalls(TestCase):
    def calls_of(self, profile):
        """Returns {(labels of the callers, call): count} of the calls through the victim's
        instruction."""
        returns = {address: name for name, address in profile.symbols.items() if name.endswith("_return")}
        found = collections.Counter()
        for each in profile["system_calls"]:
            if profile.name(each["at"]) != "calls_system_call":
                continue
            callers = [profile.locations[caller] for caller in each["callers"]]
            labels = [returns.get(int(place["address"], 16) + 1) for place in callers
                      if place["module"] == profile.module]
            found[tuple(filter(None, labels)), each["call"]] += each["count"]
        return found

    def seen(self, iterations, options, enough=lambda profile: True):
        done, profile = self.profile_until(
            enough, lambda factor: (victim("system_calls"), str(iterations * factor)),
            module=victim("system_calls"), options=(*OPTIONS, *options))
        self.assertEqual(done.code, 0, done.stderr)
        return self.calls_of(profile), profile

    def test_exact_runs_see_each_call(self):
        iterations = 500
        found, profile = self.seen(iterations, ("--mode=exact",))
        self.assertEqual(found, {(callers, call): rate * iterations
                                 for callers, (call, rate) in CALLS.items()})
        names = {each["call"] for each in profile["system_calls"]}
        self.assertLessEqual({"getppid", "getuid", "write", "exit_group"}, names)

    def assert_as_often(self, found):
        """Checks that all calls have about equal counts. A sample begins and ends within an
        iteration, so its counts may differ by one. A stack may be cut short, so some calls may have
        other callers."""
        keys = {(callers, call) for callers, (call, _) in CALLS.items()}
        counts = [found[key] for key in keys]
        self.assertGreaterEqual(sum(counts), 4000, found)
        self.assertLessEqual(sum(found.values()) - sum(counts), 0.05 * sum(counts), found)
        self.assertLessEqual(max(counts) - min(counts), 0.25 * max(counts), found)

    def test_samples_see_them_in_their_proportion(self):
        for mode in ("shadow", "live"):
            with self.subTest(mode=mode):
                found, _ = self.seen(
                    200_000, (f"--mode={mode}", "--budget=20%", "--sample-size=1M"),
                    lambda profile: sum(self.calls_of(profile).values()) >= 4400)
                self.assert_as_often(found)

    def test_exact_runs_see_calls_that_signals_come_before_once(self):
        """A call that is left for a handler, and restarted after it, counts once."""
        calls = 2000
        script = f"""
            use Time::HiRes qw(setitimer ITIMER_REAL);
            my ($handled, $x) = (0, 0);
            $SIG{{ALRM}} = sub {{ $handled++ }};
            setitimer(ITIMER_REAL, 0.001, 0.001);
            for (1..{calls}) {{ getppid; for (1..200) {{ $x++ }} }}
            setitimer(ITIMER_REAL, 0);
            print "$handled";"""
        done, profile = self.profile("perl", "-e", script, options=("--mode=exact", *OPTIONS))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertGreater(int(done.stdout), 0)
        made = collections.Counter()
        for each in profile["system_calls"]:
            made[each["call"]] += each["count"]
        self.assertEqual(made["getppid"], calls)
        self.assertGreaterEqual(made["rt_sigreturn"], int(done.stdout))

    def transfers(self, mode, *options):
        """Returns what `transfers` knows of its system calls, the same of the profile, and how often
        its handler ran. Each is {name: (calls, failed ones, bytes)}."""
        done, profile = self.profile(victim("transfers"), mode, options=("--mode=exact", *options, *OPTIONS),
                                     module=victim("transfers"))
        self.assertEqual(done.code, 0, done.stderr)
        handled, *lines = done.stdout.decode().splitlines()
        known = {name: tuple(map(int, numbers)) for name, *numbers in map(str.split, lines)}
        found = collections.defaultdict(lambda: (0, 0, 0))
        for each in profile["system_calls"]:
            if profile.name(each["at"]) == "transfers_system_call":
                more = each["count"], each["failed"], each.get("bytes", 0)
                found[each["call"]] = tuple(map(sum, zip(found[each["call"]], more)))
        # Its result is not a number of bytes.
        if "getppid" in known:
            known["getppid"] = (*known["getppid"][:2], 0)
        return known, dict(found), int(handled.split()[1])

    def test_bytes_and_failures_are_those_that_the_program_sees(self):
        for check in ("0", "100%"):
            with self.subTest(check=check):
                known, found, _ = self.transfers("files", f"--check={check}")
                self.assertEqual(found, known)
                self.assertEqual(found["read"][1:], (7, 104950))
                self.assertEqual(found["splice"], (1, 0, 1234))

    def test_bytes_of_calls_that_end_while_other_threads_go_on(self):
        known, found, _ = self.transfers("threads")
        self.assertEqual(found, known)
        self.assertEqual(found["read"][2], 4000)

    def test_calls_that_begin_again_are_counted_once(self):
        for mode, check in (("restarts", "0"), ("restarts", "100%"), ("thread-restarts", "0")):
            with self.subTest(mode=mode, check=check):
                known, found, handled = self.transfers(mode, f"--check={check}")
                self.assertGreater(handled, 10)
                self.assertEqual(found, known)

    def test_interrupted_calls_fail(self):
        for check in ("0", "100%"):
            with self.subTest(check=check):
                known, found, handled = self.transfers("interrupted", f"--check={check}")
                self.assertGreater(handled, 10)
                self.assertGreater(known["read"][1], handled)
                self.assertEqual(found, known)

    def test_diff_limits_bytes(self):
        paths = []
        for n in (9, 1000):
            self.seen(n, ("--mode=exact",))
            paths.append(self.folder / f"{n}.json")
            self.profile_path.rename(paths[-1])
        limit = lambda text: self.shadowprof("diff", f"--fail-if={text}", *paths)
        # The program writes its argument.
        self.assertEqual(limit("syscalls.write.bytes>+2").code, 3)
        self.assertEqual(limit("syscalls.write.bytes>+3").code, 0)
        self.assertEqual(limit("syscalls.write>+0").code, 0)
        refused = limit("syscalls.openat.bytes>+0")
        self.assertIn("there is no such count", refused.stderr)

    def test_samples_do_not_know_what_calls_return(self):
        _, profile = self.seen(200_000, ("--mode=shadow", "--budget=20%"),
                               lambda profile: len(profile["system_calls"]) > 0)
        for each in profile["system_calls"]:
            self.assertNotIn("failed", each)
            self.assertNotIn("bytes", each)

    def test_they_are_told_of_only_if_asked_for(self):
        done, profile = self.profile(victim("system_calls"), "1000", options=("--mode=exact", "--profiles=edge"))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(profile["system_calls"], [])

    def test_reports_and_pages_have_them(self):
        self.seen(100, ("--mode=exact",))
        report = self.shadowprof("report", "--by=syscall", "--top=0", self.profile_path)
        self.assertEqual(report.code, 0, report.stderr)
        line = next(line for line in report.stdout.decode().splitlines() if "getuid" in line)
        self.assertIn(" 100  getuid  calls_make+0x", line)
        self.assertIn("calls_seldom+0x", line)
        tables = self.page_parts()["kinds"]["tables"]
        self.assertEqual([table["word"] for table in tables], ["syscall"])
        self.assertEqual([column["name"] for column in tables[0]["columns"]], ["call", "at", "count", "failed", "bytes", "callers"])
        self.assertIn([100, "getuid"], [row[:2] for row in tables[0]["rows"]])

    def test_merged_profiles_add_up(self):
        self.seen(100, ("--mode=exact",))
        merged = self.folder / "merged.json"
        done = self.shadowprof("merge", "-q", "-o", merged, self.profile_path, self.profile_path)
        self.assertEqual(done.code, 0, done.stderr)
        once, twice = (json.loads(path.read_text())["system_calls"] for path in (self.profile_path, merged))
        count = lambda calls: sum(each["count"] for each in calls if each["call"] == "getuid")
        self.assertEqual(count(twice), 2 * count(once))


if __name__ == "__main__":
    require_programs("perl")
    main()
