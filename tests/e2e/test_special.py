"""Special kinds of memory: samples of it are right or end early, and the target is unharmed."""

import pathlib

from harness import TestCase, main, taken, victim, whole

NO_SUCH_MEMORY = 77
ROUNDS = 10_000_000


# Victims set up their special memory when they begin; earlier samples would see none of it.
WHEN_IT_IS_THERE = "--delay=100ms"
# Each fork copies page tables and causes faults, and a load asks for exactly that. Where memory is
# slow, a program of half a second would take minutes.
ENOUGH = "--max-samples=30"


class Special(TestCase):
    """Runs the victim."""

    def check(self, kind, options=(), is_enough=lambda profile: taken(profile) > 20):
        self.rounds = 0

        def command(factor):
            self.rounds = ROUNDS * factor
            return victim("special"), kind, str(self.rounds), self.folder / "file"

        done, profile = self.profile_until(is_enough, command,
                                           options=[WHEN_IT_IS_THERE, ENOUGH, *options])
        if done.code == NO_SUCH_MEMORY:
            self.skipTest(f"there is no {kind} memory here")
        self.assertEqual((done.code, done.stdout, done.stderr),
                         (0, f"special: {kind} unharmed\n".encode(), ""))
        self.assertGreater(profile.samples, 0)
        self.assertEqual(profile["sampling"]["ended"].get("worker_lost", 0), 0)
        return profile

    def check_in_both_modes(self, kind, options=()):
        """Returns the profile of the shadow samples."""
        with self.subTest(mode="live"):
            self.check(kind, options=["--mode=live", *options])
        return self.check(kind, options=options)


class Kinds(Special):
    def test_shared_memory_gets_nothing_of_a_sample(self):
        """A count that a sample made in shared memory would make the sum wrong."""
        profile = self.check_in_both_modes("shared")
        self.assert_sampled_well(profile)
        counts = (self.folder / "file").read_bytes()
        total = sum(int.from_bytes(counts[i:i + 8], "little") for i in range(0, len(counts), 8))
        self.assertEqual(total, self.rounds)

    def test_memory_of_a_device_ends_samples(self):
        profile = self.check_in_both_modes("device")
        ended = profile["sampling"]["ended"]
        self.assertGreater(ended.get("fault", 0), 0, ended)
        # A sample may begin after the program's last read of the data, or end before the next one.
        self.assertEqual(ended.keys() - {"fault", "idle", "exit", "time", "met"}, set())

    def test_a_file_that_is_truncated_under_the_program_and_the_sample(self):
        profile = self.check_in_both_modes("truncated")
        self.assertGreater(profile["sampling"]["ended"].get("fault", 0), 0)

    def test_gigabytes_of_address_space_cost_what_is_used_of_them(self):
        profile = self.check_in_both_modes("sparse")
        self.assert_sampled_well(profile)
        sampling = profile["sampling"]
        # The program uses 1024 pages, and one access fetches four.
        self.assertLess(sampling["counters"]["pages_fetched"], 5000 * profile.samples)

    def test_transparent_huge_pages(self):
        self.assert_sampled_well(self.check_in_both_modes("huge"))


class HugePages(Special):
    POOL = pathlib.Path("/proc/sys/vm/nr_hugepages")

    def set_pool(self, pages):
        try:
            before = self.POOL.read_text()
            self.POOL.write_text(str(pages))
        except OSError:
            self.skipTest("the pool of huge pages cannot be changed here")
        self.addCleanup(self.POOL.write_text, before)
        if int(self.POOL.read_text()) < pages:
            self.skipTest("there is no memory for huge pages")

    def test_of_a_pool_with_room(self):
        self.set_pool(16)
        profile = self.check("hugetlb")
        self.assertEqual(profile["sampling"]["mode"], "shadow", profile["notes"])
        self.assert_sampled_well(profile)

    def test_of_a_pool_that_is_empty(self):
        self.set_pool(2)
        profile = self.check("hugetlb")
        self.assertEqual(profile["sampling"]["mode"], "live", profile["notes"])
        self.assertTrue(any("huge pages" in note for note in profile["notes"]), profile["notes"])


class Wiped(TestCase):
    def test_memory_that_forks_wipe_is_seen_as_it_is_and_still_wiped(self):
        for mode in ("shadow", "live"):
            with self.subTest(mode=mode):
                done, profile = self.profile_until(
                    lambda profile: whole(profile) >= 3,
                    lambda factor: (victim("wiped"), str(6_000_000 * factor)),
                    options=[f"--mode={mode}", WHEN_IT_IS_THERE], module=victim("wiped"))
                self.assertEqual((done.code, done.stdout[:7]), (0, b"wiped: "))
                self.assertNotIn(b"not as it was", done.stdout)
                called = {profile.locations[edge["to"]]["function"] for edge in profile["edges"]}
                self.assertIn("seen_data", called)
                self.assertNotIn("seen_zero", called)
                # The first samples detect it.
                self.assertGreaterEqual(whole(profile), 3)


del Special  # unittest would run it as well

if __name__ == "__main__":
    main()
