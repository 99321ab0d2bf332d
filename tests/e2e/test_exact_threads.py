"""Threads and timers of a program that is followed exactly: what one thread waits for, another one
does, and signals come after processor time that the process itself does not take."""

from harness import TestCase, main, victim

LACKING = 77
CLOCKS = ("host", "virtual")


class ExactThreads(TestCase):
    def exact(self, name, *words, clock="host", check=None, diverges=False):
        """Returns what is said of an exact run. The program must behave as natively."""
        plain = self.run_command([victim(name), *words])
        if plain.code == LACKING:
            self.skipTest(f"this machine does not allow what {' '.join(words)} needs")
        self.assertEqual(plain.code, 0, plain.stdout)
        checks = [] if check is None else [f"--check={check}"]
        done, profile = self.profile(victim(name), *words,
                                     options=("--mode=exact", f"--clock={clock}", *checks,
                                              "--profiles=edge"))
        self.assertEqual((done.code, done.stdout), (0, plain.stdout), done.stderr)
        self.assertEqual(profile["sampling"]["exact"]["diverged"] != 0, diverges, profile["notes"])
        return profile["sampling"]

    def covered(self, *words, clock="host"):
        sampling = self.exact(*words, clock=clock)
        self.assertIsNone(sampling["exact"]["stopped_early"])
        return sampling["instructions"]

    def test_threads_are_compared_with_the_hardware_and_counts_do_not_depend_on_that(self):
        for words in (("meeting", "locks"), ("meeting", "spinning"), ("threads", "4", "20")):
            with self.subTest(words=words):
                none = self.exact(*words, check=0)
                most = self.exact(*words, check=99)
                self.assertEqual(none["exact"]["compared"], 0)
                self.assertGreater(most["exact"]["compared"], 3)
                self.assertEqual(most["instructions"], none["instructions"])

    def test_what_differs_from_the_hardware_in_a_thread_is_reported(self):
        self.exact("foreign", "written", check=99, diverges=True)

    def test_a_thread_that_waits_in_a_call_holds_up_no_other(self):
        for way in ("sigtimedwait", "select", "pselect", "waitid", "semop", "semtimedop", "mq", "recvmmsg",
                    "splice"):
            for clock in CLOCKS:
                with self.subTest(way=way, clock=clock):
                    self.covered("waiting", way, clock=clock)

    def test_what_the_kernel_writes_for_a_waiting_thread_stays(self):
        for clock in CLOCKS:
            with self.subTest(clock=clock):
                self.covered("waiting", "reads", clock=clock)

    def test_timers_of_processor_time_signal_as_natively(self):
        for clock in CLOCKS:
            for words in ((), ("thread",)):
                with self.subTest(words=words, clock=clock):
                    self.covered("processor_timers", *words, clock=clock)

    def test_by_the_virtual_clock_they_signal_at_the_same_instruction_each_time(self):
        first = self.covered("processor_timers", clock="virtual")
        self.assertEqual(self.covered("processor_timers", clock="virtual"), first)

    def test_they_go_on_when_the_program_is_followed_no_further(self):
        sampling = self.exact("processor_timers", "let_go")
        self.assertIn("userfaultfd", sampling["exact"]["stopped_early"])


if __name__ == "__main__":
    main()
