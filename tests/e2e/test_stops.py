"""Programs that the kernel stops again and again because they are traced: at signals, and at births
of threads and processes. They are let go, and lose nothing but samples."""

import os
import shutil
import subprocess

from harness import NOBODY, SHADOWPROF, TestCase, main, victim

NO_NAMESPACES = NO_SUCH_MEMORY = 77

# How many signals or births. A stop takes 10 us and more, so the first percent of these use up what
# may be lost at once.
MANY_SIGNALS, MANY_BIRTHS, MANY_PROCESSES = 200_000, 20_000, 3_000
STORMS = {"reads": MANY_SIGNALS, "divisions": MANY_SIGNALS, "raised": MANY_SIGNALS,
          "timer": 10_000, "threads": MANY_BIRTHS, "forks": MANY_PROCESSES,
          "spawns": MANY_PROCESSES, "execs": MANY_PROCESSES}
LET_GO = "processes were let go "


def notes_of_letting_go(profile):
    return [note for note in profile["notes"] if note.startswith(LET_GO)]


class Storms(TestCase):
    def check(self, kind, rounds, options):
        done, profile = self.profile(victim("stops"), kind, str(rounds), options=options)
        self.assertEqual((done.code, done.stdout, done.stderr),
                         (0, f"stops: {kind} {rounds} unharmed\n".encode(), ""))
        counters = profile["sampling"]["counters"]
        self.assertLess(counters["event_stops"], rounds / 2)
        self.assertGreater(counters["times_let_go"], 0)
        self.assertEqual(len(notes_of_letting_go(profile)), 1, profile["notes"])
        return profile

    def test_within_a_budget(self):
        for kind, rounds in STORMS.items():
            with self.subTest(kind):
                profile = self.check(kind, rounds, ["--budget=1"])
                self.assertIn("--budget", notes_of_letting_go(profile)[0])

    def test_what_stops_cost_is_in_the_estimate(self):
        profile = self.check("raised", MANY_SIGNALS, ["--budget=1"])
        seconds = profile["sampling"]["counters"]["event_stops_ns"] / 1e9
        self.assertGreater(seconds, 0)
        least = 100 * seconds / profile["run"]["seconds"]
        self.assertGreaterEqual(profile["overhead"]["estimated_slowdown_percent"], 0.9 * least)

    def test_samples_go_on_between_stops(self):
        """A program that was let go is followed again for samples."""
        _, profile = self.profile_until(
            lambda profile: profile["sampling"]["counters"].get("times_let_go", 0) > 3,
            lambda factor: (victim("stops"), "raised", str(2 * MANY_SIGNALS * factor)),
            options=["--budget=20"])
        self.assertGreater(profile["sampling"]["counters"]["times_let_go"], 3)
        self.assertGreater(profile.samples, 0)

    def test_a_timer_faster_than_its_stops(self):
        """Each signal takes longer than the timer's period, so that a program that is stopped at
        each of them makes hardly any progress."""
        for options in (["--load=8"], ["--budget=1"], ["--mode=live"]):
            with self.subTest(options):
                done, _ = self.profile(victim("stops"), "short", "500", options=options)
                self.assertEqual((done.code, done.stdout),
                                 (0, b"stops: short 500 unharmed\n"))

    def test_few_stops_are_no_reason(self):
        for kind in ("signalfd", "raised", "threads"):
            with self.subTest(kind):
                # Signals that the program reads are not delivered, and stop nobody.
                rounds = MANY_SIGNALS if kind == "signalfd" else 10
                # A busy machine makes each stop dear, so more is allowed.
                done, profile = self.profile(victim("stops"), kind, str(rounds),
                                             options=["--budget=100"])
                self.assertEqual(done.code, 0)
                self.assertNotIn("times_let_go", profile["sampling"]["counters"])
                self.assertEqual(notes_of_letting_go(profile), [])

    def test_attached(self):
        """Also a program that is no child of shadowprof ends unharmed, and its end is noticed."""
        rounds = 20 * MANY_SIGNALS
        target, tag = self.start([victim("stops"), "raised", str(rounds)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        done = self.shadowprof("attach", "-q", "-o", self.profile_path, "--budget=1", target.pid)
        ended = self.finish(target, tag)
        self.assertEqual((ended.code, ended.stdout),
                         (0, f"stops: raised {rounds} unharmed\n".encode()))
        self.assertEqual(done.code, 0, done.stderr)
        profile = self.read_profile()
        counters = profile["sampling"]["counters"]
        self.assertGreater(counters["times_let_go"], 0)
        self.assertLess(counters["event_stops"], rounds / 2)


class Halts(TestCase):
    """A process that is stopped as a whole, and is continued at once."""

    def check(self, shadowprof, options, **user):
        done = self.run_command([shadowprof, "run", "-q", "-o", self.profile_path, *options,
                                 self.folder / "stops", "halts", "200"], **user)
        self.assertEqual((done.code, done.stdout, done.stderr),
                         (0, b"stops: halts 200 unharmed\n", ""))
        profile = self.read_profile()
        self.assertEqual([note for note in profile["notes"] if "the rest" in note], [])

    def test_goes_on_as_natively(self):
        shutil.copy(victim("stops"), self.folder)
        users = {"this user": (SHADOWPROF, {})}
        if os.geteuid() == 0:
            # Others may not suspend filters of system calls, which takes other ways.
            self.folder.chmod(0o777)
            users["an ordinary user"] = (shutil.copy(SHADOWPROF, self.folder / "shadowprof"),
                                         NOBODY)
        for name, (shadowprof, user) in users.items():
            for options in (["--load=8"], ["--mode=exact"],
                            ["--mode=exact", "--follow-forks=yes"]):
                with self.subTest(user=name, options=options):
                    self.check(shadowprof, options, **user)
                    self.profile_path.unlink()


class Inits(TestCase):
    """The first process of a PID namespace."""

    ENDS = {
        ("fault",): b"init: signal 11\n",
        ("division",): b"init: signal 8\n",
        ("breakpoint",): b"init: signal 5\n",
        ("abort",): b"init: signal 11\n",
        ("child",): b"child: signal 11\ninit: status 3\n",
        ("survives",): b"init: status 3\n",
        ("handler",): b"init: status 51\n",
        ("fault", "nested"): b"inner: signal 11\ninit: status 4\n",
        ("breakpoint", "nested"): b"inner: signal 5\ninit: status 4\n",
    }

    def test_ends_as_natively(self):
        for words, expected in self.ENDS.items():
            for options in (["--budget=1"], ["--load=8"],
                            ["--mode=exact", "--follow-forks=yes"]):
                with self.subTest(words=words, options=options):
                    done, _ = self.profile(victim("init"), *words, options=options)
                    if done.code == NO_NAMESPACES:
                        self.skipTest("there are no PID namespaces here")
                    self.assertEqual((done.code, done.stdout, done.stderr), (0, expected, ""))


class LeakSanitizer(TestCase):
    """It traces the program that it is in, which it cannot while shadowprof does."""

    NOTE = "LeakSanitizer looks for leaks"
    SOURCE = """
        #include <stdlib.h>
        int main(void) {
            volatile long sum = 0;
            for (long i = 0; i < 50000000; ++i) sum += i;
            free(malloc(8));
            return 0;
        }"""

    def test_a_note_says_what_helps(self):
        source, program = self.folder / "leaks.c", self.folder / "leaks"
        source.write_text(self.SOURCE)
        for kind in ("address", "leak"):
            with self.subTest(kind):
                made = subprocess.run(["cc", f"-fsanitize={kind}", source, "-o", program],
                                      capture_output=True)
                if made.returncode != 0 or self.run_command([program]).code != 0:
                    self.skipTest(f"programs with -fsanitize={kind} cannot be made or run here")
                done, profile = self.profile(program)
                if done.code != 0:
                    self.assertEqual(len([note for note in profile["notes"]
                                          if note.startswith(self.NOTE)]), 1, profile["notes"])
                    self.assertIn("LSAN_OPTIONS=detect_leaks=0", " ".join(profile["notes"]))
                done, profile = self.profile(program, env={"LSAN_OPTIONS": "detect_leaks=0"})
                self.assertEqual((done.code, done.stderr), (0, ""))
                self.assertNotIn(self.NOTE, " ".join(profile["notes"]))


class NoRoom(TestCase):
    def test_no_worker_looks_for_room_for_ever(self):
        """How much room there is depends on random addresses, so there are several runs."""
        for _ in range(4):
            done, profile = self.profile(victim("no_room"), "60000000", options=["--budget=1"])
            if done.code == NO_SUCH_MEMORY:
                self.skipTest("so much address space cannot be reserved here")
            self.assertEqual((done.code, done.stdout),
                             (0, b"no room: sum 1799999970000000\n"))
            ended = profile["sampling"]["ended"]
            self.assertEqual(ended.get("worker_lost", 0), 0, ended)
            found_none = [note for note in profile["notes"] if "leave no room" in note]
            self.assertEqual(len(found_none), int("no_room" in ended), profile["notes"])
            report = self.shadowprof("report", self.profile_path)
            if "no_room" in ended:
                self.assertNotIn(b"--mode=exact", report.stdout)


if __name__ == "__main__":
    main()
