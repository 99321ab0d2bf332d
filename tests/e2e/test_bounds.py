"""The bounds themselves: wide enough for a correct profiler, too tight for a wrong one."""

import random
import unittest

import bounds


class Bounds(unittest.TestCase):
    def test_binomial_admits_fair_draws(self):
        rng = random.Random(1)
        for _ in range(300):
            hits = sum(rng.random() < 0.75 for _ in range(2000))
            self.assertLess(abs(hits - 1500), bounds.binomial(2000, 0.75))

    def test_binomial_refuses_a_profiler_that_misses_one_taken_branch_in_twenty(self):
        executions = 400_000
        taken = 0.95 * 0.75 * executions
        seen = taken + 0.25 * executions
        self.assertGreater(abs(taken - 0.75 * seen), bounds.binomial(seen, 0.75))

    def test_periodic_refuses_a_profiler_that_misses_one_in_a_hundred(self):
        per_sample = 24_000
        taken, not_taken = 0.99 * 0.75 * per_sample * 50, 0.25 * per_sample * 50
        self.assertGreater(abs(taken - 3 * not_taken), bounds.periodic(50, 4))

    def test_a_hotlist_error_widens_the_bound(self):
        self.assertGreater(bounds.binomial(1000, 0.5, hotlist_error=100),
                           bounds.binomial(1000, 0.5) + 100)


if __name__ == "__main__":
    unittest.main()
