"""Corners of processor and kernel in which a program that is followed to the letter must do what it does
by itself: exact mode and verify step it, stop it at breakpoints and put its signals off."""

import re

from harness import TestCase, main, victim

LACKING = 77


class Corners(TestCase):
    def plain(self, *words):
        done = self.run_command([victim("corners"), *words])
        if done.code == LACKING:
            self.skipTest(f"this machine has no {words[0]}")
        self.assertEqual(done.code, 0, done.stdout)
        return done.stdout

    def verified(self, *words, options=()):
        """What verify says of a program that does under it what it does by itself."""
        expected = self.plain(*words)
        done = self.shadowprof("verify", *options, "--", victim("corners"), *words)
        self.assertEqual(done.stdout, expected, done.stderr)
        return done.code, done.stderr

    def proven(self, *words, options=()):
        code, text = self.verified(*words, options=options)
        self.assertEqual(code, 0, text)
        self.assertIn(" 0 diverged", text)
        return text

    def exact(self, *words):
        """The exact profile of a program that does what it does by itself."""
        expected = self.plain(*words)
        done, profile = self.profile(victim("corners"), *words, options=("--mode=exact",))
        self.assertEqual((done.code, done.stdout), (0, expected), done.stderr)
        exact = profile["sampling"]["exact"]
        self.assertEqual(exact["diverged"], 0, profile["notes"])
        return exact

    def test_step_of_a_program_that_ignores_sigtrap_leaves_it_ignored(self):
        self.proven("ignored")
        self.exact("ignored")

    def test_step_of_a_program_that_blocks_sigtrap_leaves_it_blocked(self):
        self.proven("blocked")
        self.exact("blocked")

    def test_call_by_another_instruction_is_made_once_and_right(self):
        code, text = self.verified("int80")
        self.assertEqual(code, 1, text)
        self.assertIn("not verified to the end: it made a system call by an instruction", text)
        self.assertIn("instruction other than SYSCALL", self.exact("int80")["stopped_early"])

    def test_single_steps_of_the_program_itself_are_its_own(self):
        text = self.proven("traps")
        self.assertIn("not compared: the program single-steps itself", text)
        self.exact("traps")

    def test_limit_behind_a_stepped_instruction_kills_nobody(self):
        """The first intervals end at instructions that are left to the hardware, so that one of these
        limits is reached behind such a one."""
        for limit in (1, 1000, 10000, 20000, 30000):
            with self.subTest(limit=limit):
                text = self.proven("spin", "10", options=(f"--max-instructions={limit}",))
                self.assertIn("not verified to the end: the limit", text)

    def test_limit_holds_within_an_interval(self):
        """Of 80 million instructions without a system call between them."""
        text = self.proven("spin", "100000", options=("--max-instructions=2M",))
        compared = int(re.search(r"intervals of together (\d+) instructions", text).group(1))
        self.assertLess(compared, 4_000_000)
        self.assertIn("ended by the limit of instructions", text)

    def test_signals_in_the_tightest_of_loops_cost_little(self):
        """Of which no place is rare. At ten seconds each they would outlast the harness' patience."""
        text = self.proven("ticks", "40")
        self.assertIn("signals from outside held", text)
        self.exact("ticks", "5")

    def test_loop_that_a_signal_ends_has_run_until_it_came(self):
        self.proven("alarm")
        self.exact("alarm")


if __name__ == "__main__":
    main()
