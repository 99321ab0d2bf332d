"""Samples of several threads: tests/victims/threads.c, whose shares are known."""

import unittest

from harness import TestCase, WORK_FACTORS, taken, victim

WORKERS = 4
# Of each of its threads, in a round.
ROUND_INSTRUCTIONS = 160_000
# Of the steps of a round: each worker's, and those of the thread that is started and joined in it.
STEPS = {"thread_odd": WORKERS / 2, "thread_even": WORKERS / 2, "thread_short": 1}


class Threads(TestCase):
    def shares(self, profile):
        """Each kind's part of the instructions of all three."""
        counts = dict.fromkeys(STEPS, 0)
        for stack in profile["stacks"]:
            function = profile.locations[stack["frames"][-1]]["function"]
            if function in counts:
                counts[function] += stack["instructions"]
        total = sum(counts.values())
        self.assertGreater(total, 1_000_000)
        return {name: count / total for name, count in counts.items()}

    def cut_short(self, profile):
        """The part of the samples that are not whole, and may show any one kind alone."""
        return 1 - profile["sampling"]["ended"]["size"] / taken(profile)

    def profile_threads(self, *options, workers=WORKERS, rounds=12000, rounds_of_sample=12):
        """Samples of so many rounds, or more: what a kind does in one of them differs from its part
        of as many rounds by what it does in one at most, wherever the sample begins and ends."""
        program = victim("threads")
        size = rounds_of_sample * (workers + 1) * ROUND_INSTRUCTIONS
        for factor in WORK_FACTORS:
            command = [program, str(workers), str(rounds * factor)]
            native = self.run_command(command)
            done, profile = self.profile(*command, module=program, options=[
                "--load=1", f"--sample-size={size}", *options])
            self.assertEqual((done.code, done.stdout), (0, native.stdout), done.stderr)
            if "--threads=main" in options or profile["sampling"]["ended"].get("size", 0) >= 5:
                break
        return profile

    def test_all_kinds_of_threads_have_their_share(self):
        profile = self.profile_threads()
        shares = self.shares(profile)
        for name, steps in STEPS.items():
            self.assertAlmostEqual(shares[name], steps / sum(STEPS.values()), msg=name,
                                   delta=0.05 + self.cut_short(profile))

    def test_samples_go_on_where_threads_wait_for_each_other(self):
        profile = self.profile_threads()
        self.assert_sampled_well(profile)
        self.assertEqual(profile["sampling"]["counters"]["mismatched_returns"], 0)
        self.assertEqual(profile["sampling"]["counters"]["samples_damaged"], 0)

    def test_each_worker_is_named(self):
        profile = self.profile_threads()
        threads = profile["threads"]
        self.assertTrue(all(thread["pid"] == profile["run"]["pid"] for thread in threads))
        self.assertTrue(all(thread["name"] == "threads" for thread in threads
                            if thread["tid"] and thread["samples"] > 1))
        by_weight = sorted((t["instructions"] for t in threads if t["tid"]), reverse=True)
        self.assertGreaterEqual(len(by_weight), WORKERS)
        # All workers do the same.
        self.assertLess(by_weight[0], 1.5 * by_weight[WORKERS - 1])
        # Weighted counts are rounded.
        self.assertAlmostEqual(sum(t["instructions"] for t in threads),
                               profile["sampling"]["instructions"], delta=len(threads))

    def test_sixty_four_threads(self):
        profile = self.profile_threads(workers=64, rounds=1200, rounds_of_sample=6)
        self.assertGreaterEqual(sum(1 for thread in profile["threads"]
                                    if thread["instructions"] > 0), 64)
        shares = self.shares(profile)
        self.assertAlmostEqual(shares["thread_odd"], 0.5, delta=0.1 + self.cut_short(profile))

    def test_main_thread_alone(self):
        profile = self.profile_threads("--threads=main")
        # It waits for the workers to end.
        self.assertTrue(all(thread["tid"] == profile["run"]["pid"]
                            for thread in profile["threads"]))


if __name__ == "__main__":
    unittest.main()
