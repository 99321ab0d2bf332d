"""Samples of several threads: tests/victims/threads.c, whose shares are known."""

import math

import bounds
from harness import TestCase, main, victim, whole

WORKERS = 4
# With other tests at the same time, a run may get only a few samples.
ENOUGH_SAMPLES = 40
# How far shares may be off if they are known well enough. If each thread has its own processor, a
# sample is of one thread, and this precision takes hundreds of samples.
MOST_DEVIATION = 0.1
# Steps of a round: each worker's, and those of the thread that is started and joined in the round.
STEPS = {"thread_odd": WORKERS / 2, "thread_even": WORKERS / 2, "thread_short": 1}


def shares(profile):
    """Returns each kind's share of the instructions of all three kinds, and how far it may be
    off."""
    counts = dict.fromkeys(STEPS, 0)
    variances = dict.fromkeys(STEPS, 0)
    for stack in profile["stacks"]:
        function = profile.locations[stack["frames"][-1]]["function"]
        if function in counts:
            counts[function] += stack["instructions"]
            # An error of 0 is left out.
            variances[function] += stack.get("error", 0) ** 2
    total = max(sum(counts.values()), 1)
    return {name: (count / total, bounds.hotlist(math.sqrt(variances[name])) / total)
            for name, count in counts.items()}


def has_enough(profile):
    """Whether there are so many samples that errors are known. Samples in which nothing ran count
    among them."""
    return profile.samples >= ENOUGH_SAMPLES and any("error" in each for each in profile["stacks"])


def shares_are_known(profile):
    return has_enough(profile) and all(
        share != 0 and off <= MOST_DEVIATION for share, off in shares(profile).values())


class Threads(TestCase):
    def profile_threads(self, *options, workers=WORKERS, rounds=1500, enough=has_enough):
        program = victim("threads")

        def command(factor):
            return program, str(workers), str(rounds * factor)

        done, profile = self.profile_until(enough, command, module=program,
                                           options=["--load=1", *options])
        native = self.run_command(profile["run"]["command"])
        self.assertEqual((done.code, done.stdout), (0, native.stdout), done.stderr)
        return profile

    def test_all_kinds_of_threads_have_their_share(self):
        profile = self.profile_threads(enough=shares_are_known)
        for name, (share, off) in shares(profile).items():
            self.assertAlmostEqual(share, STEPS[name] / sum(STEPS.values()),
                                   delta=max(MOST_DEVIATION, off), msg=name)

    def test_samples_go_on_where_threads_wait_for_each_other(self):
        profile = self.profile_threads()
        ended = profile["sampling"]["ended"]
        self.assertGreater(whole(profile), 0.7 * profile.samples, ended)
        self.assertEqual(profile["sampling"]["counters"]["mismatched_returns"], 0)
        self.assertEqual(profile["sampling"]["counters"]["samples_damaged"], 0)

    def test_each_worker_is_named(self):
        profile = self.profile_threads(enough=shares_are_known)
        threads = profile["threads"]
        self.assertTrue(all(thread["pid"] == profile["run"]["pid"] for thread in threads))
        known = sorted((thread for thread in threads if thread["tid"]),
                       key=lambda thread: thread["instructions"], reverse=True)
        self.assertGreaterEqual(len(known), WORKERS)
        workers, others = known[:WORKERS], known[WORKERS:]
        self.assertEqual({thread["name"] for thread in workers}, {"threads"})
        # A short-lived thread may have ended before its name was read.
        self.assertLessEqual({thread["name"] for thread in others}, {"threads", None})
        # All workers do the same work.
        self.assertLess(workers[0]["instructions"], 2 * workers[-1]["instructions"])
        # Weighted counts are rounded.
        self.assertAlmostEqual(sum(t["instructions"] for t in threads),
                               profile["sampling"]["instructions"], delta=len(threads))

    def test_sixty_four_threads(self):
        profile = self.profile_threads(workers=64, rounds=100)
        self.assertGreater(sum(1 for thread in profile["threads"]
                               if thread["instructions"] > 0), 32)
        seen = shares(profile)
        share, off = seen["thread_odd"]
        self.assertAlmostEqual(share, 0.5, delta=max(0.15, off))
        # A sample of only some of the threads ends when these have all met. It is mostly about the
        # code there.
        share, off = seen["thread_short"]
        self.assertLess(share, max(0.15, 0.05 + off))

    def test_main_thread_alone(self):
        profile = self.profile_threads("--threads=main")
        # The main thread waits for the workers to end. In early samples it starts them.
        self.assertEqual([thread for thread in profile["threads"]
                          if thread["tid"] != profile["run"]["pid"] and thread["samples"] != 0], [])


if __name__ == "__main__":
    main()
