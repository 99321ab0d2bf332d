"""Threads and timers of a program that is followed exactly: what one thread waits for, another one
does, and signals come after processor time that the process itself does not take."""

from harness import TestCase, main, victim

LACKING = 77
CLOCKS = ("host", "virtual")


class ExactThreads(TestCase):
    def exact(self, name, *words, clock="host"):
        """Returns what is said of an exact run. The program must behave as natively."""
        plain = self.run_command([victim(name), *words])
        if plain.code == LACKING:
            self.skipTest(f"this machine does not allow what {' '.join(words)} needs")
        self.assertEqual(plain.code, 0, plain.stdout)
        done, profile = self.profile(victim(name), *words,
                                     options=("--mode=exact", f"--clock={clock}", "--profiles=edge"))
        self.assertEqual((done.code, done.stdout), (0, plain.stdout), done.stderr)
        self.assertEqual(profile["sampling"]["exact"]["diverged"], 0, profile["notes"])
        return profile["sampling"]

    def covered(self, *words, clock="host"):
        sampling = self.exact(*words, clock=clock)
        self.assertIsNone(sampling["exact"]["stopped_early"])
        return sampling["instructions"]

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
