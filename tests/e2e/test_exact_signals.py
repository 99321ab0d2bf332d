"""Signals, faults and state of the processor that an exactly followed program must find as natively:
what a fault does whose signal is blocked or ignored, which thread gets which signal when, and what
instructions show that a program seldom executes."""

from harness import TestCase, main, victim

FAULTS = ("privileged", "trap", "numbered", "debug", "interrupt", "stack", "undefined", "division",
          "memory", "guard", "step", "alignment")
WAYS = ("kill", "sigqueue", "pidfd", "tgkill", "tkill", "queue", "pidfd_thread", "owner", "handler",
        "three")
LACKING = 77


class SameAsNatively(TestCase):
    def natively(self, name, *words):
        done = self.run_command([victim(name), *words])
        if done.code == LACKING:
            self.skipTest(f"this machine lacks what {' '.join(words)} needs")
        return done

    def exact(self, name, *words, options=()):
        expected = self.natively(name, *words)
        done, profile = self.profile(victim(name), *words, options=("--mode=exact", *options))
        self.assertEqual((done.code, done.stdout), (expected.code, expected.stdout), done.stderr)
        self.assertEqual(profile["sampling"]["exact"]["diverged"], 0, profile["notes"])
        return profile["sampling"]["exact"]

    def proven(self, name, *words):
        expected = self.natively(name, *words)
        done = self.shadowprof("verify", "--", victim(name), *words)
        self.assertEqual(done.stdout, expected.stdout, done.stderr)
        self.assertIn(" 0 diverged", done.stderr)
        return done


class Faults(SameAsNatively):
    def test_a_fault_whose_signal_is_blocked_kills(self):
        for fault in FAULTS:
            with self.subTest(fault=fault):
                self.exact("faults", fault, "blocked")
        for fault in ("privileged", "trap"):
            with self.subTest(fault=fault, mode="verify"):
                self.proven("faults", fault, "blocked")

    def test_a_fault_whose_signal_is_ignored_kills_and_one_that_is_handled_does_not(self):
        for way in ("ignored", "handled"):
            for fault in ("privileged", "trap"):
                with self.subTest(fault=fault, way=way):
                    self.exact("faults", fault, way)

    def test_stack_accesses_fault_by_the_stack_segment(self):
        self.exact("stack_faults")
        self.proven("stack_faults")


class Threads(SameAsNatively):
    def test_a_signal_from_one_thread_reaches_the_other_at_once(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.exact("thread_signals", way)


class State(SameAsNatively):
    def test_instructions_that_the_program_has_the_kernel_refuse_fault(self):
        for clock in ("host", "virtual"):
            self.exact("processor_state", "refused",
                       options=("--follow-forks=yes", f"--clock={clock}"))

    def test_control_words_are_those_that_were_loaded(self):
        self.exact("processor_state", "control", options=("--check=50%",))
        self.proven("processor_state", "control")

    def test_the_x87_unit_names_the_programs_instructions(self):
        """Not with verify: AMD's processors forget these pointers where a thread is stopped."""
        self.exact("processor_state", "pointers")

    def test_time_zone_and_clocks_of_the_kernel(self):
        for clock in ("host", "virtual"):
            self.exact("processor_state", "zone", options=(f"--clock={clock}",))


if __name__ == "__main__":
    main()
