"""Samples of several threads: tests/victims/threads.c, whose shares are known."""

from harness import TestCase, main, victim, whole

WORKERS = 4
# Fewer say little of shares, and beside other tests a run may have a few only.
ENOUGH_SAMPLES = 40
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

    def profile_threads(self, *options, workers=WORKERS, rounds=1500):
        program = victim("threads")

        def command(factor):
            return program, str(workers), str(rounds * factor)

        done, profile = self.profile_until(
            lambda profile: profile.samples >= ENOUGH_SAMPLES, command, module=program,
            options=["--load=1", *options])
        native = self.run_command(profile["run"]["command"])
        self.assertEqual((done.code, done.stdout), (0, native.stdout), done.stderr)
        return profile

    def test_all_kinds_of_threads_have_their_share(self):
        profile = self.profile_threads()
        shares = self.shares(profile)
        for name, steps in STEPS.items():
            self.assertAlmostEqual(shares[name], steps / sum(STEPS.values()), delta=0.08, msg=name)

    def test_samples_go_on_where_threads_wait_for_each_other(self):
        profile = self.profile_threads()
        ended = profile["sampling"]["ended"]
        self.assertGreater(whole(profile), 0.7 * profile.samples, ended)
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
        self.assertLess(by_weight[0], 2 * by_weight[WORKERS - 1])
        # Weighted counts are rounded.
        self.assertAlmostEqual(sum(t["instructions"] for t in threads),
                               profile["sampling"]["instructions"], delta=len(threads))

    def test_sixty_four_threads(self):
        profile = self.profile_threads(workers=64, rounds=100)
        self.assertGreater(sum(1 for thread in profile["threads"]
                               if thread["instructions"] > 0), 32)
        shares = self.shares(profile)
        self.assertAlmostEqual(shares["thread_odd"], 0.5, delta=0.15)
        # A sample of a part of them comes to an end when these have all met, and is about what
        # happens there.
        self.assertLess(shares["thread_short"], 0.15)

    def test_main_thread_alone(self):
        profile = self.profile_threads("--threads=main")
        # It waits for the workers to end. Early samples have it start them.
        self.assertEqual([thread for thread in profile["threads"]
                          if thread["tid"] != profile["run"]["pid"] and thread["samples"] != 0], [])


if __name__ == "__main__":
    main()
