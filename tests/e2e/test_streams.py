"""Hot data streams of a victim whose streams are known: see tests/victims/streams.c. It walks a
ring of 50 scattered nodes, which is one stream, and sums up a table, which is none."""

from harness import TestCase, main, victim

NODES = 50
ROUNDS = 400
TURNS_A_ROUND = 6000
# Each time the walk begins or ends, some turns are in pieces, whose references are in no
# occurrence.
LOST_TURNS = 5


class Streams(TestCase):
    def seen(self, *words, options, program="streams"):
        return self.seen_until(lambda profile: True, lambda factor: words, options, program)

    def seen_until(self, enough, words, options, program="streams"):
        done, profile = self.profile_until(enough,
                                           lambda factor: (victim(program), *words(factor)),
                                           module=victim(program), options=options)
        self.assertEqual(done.code, 0, done.stderr)
        text = done.stdout if isinstance(done.stdout, str) else done.stdout.decode()
        ring = [int(line, 16) for line in text.split() if line.startswith("0x")]
        return profile, ring

    def of_ring(self, profile):
        """Returns the streams that have only loads of nodes."""
        found = []
        for stream in profile["streams"]:
            self.assertEqual(stream["heat"], stream["length"] * stream["occurrences"])
            self.assertEqual(stream["length"], len(stream["references"]))
            if all(profile.name(at) == "streams_next" for at, _ in stream["references"]):
                found.append(stream)
        return found

    def check_is_ring(self, stream, ring):
        addresses = [int(address, 16) for _, address in stream["references"]]
        self.assertEqual(len(ring), NODES)
        first = ring.index(addresses[0])
        self.assertEqual(addresses, ring[first:] + ring[:first])

    def test_the_ring_is_the_hottest_stream_of_samples(self):
        # One of only a few samples could be of the program's start.
        profile, ring = self.seen_until(
            lambda seen: seen["sampling"]["counters"]["stream_references"] >= 500_000,
            lambda factor: (str(factor * ROUNDS),), ("--profiles=edge,value,stream",))
        self.assertEqual(len(ring), NODES)
        hottest = profile["streams"][0]
        self.check_is_ring(hottest, ring)
        # The ring has 6/7 of the references.
        self.assertGreater(hottest["heat"], 0.6 * profile["sampling"]["counters"]["stream_references"])
        self.assertTrue(profile["values"])
        self.assertEqual(profile["hazards"], [])
        self.assertEqual(profile["addresses"], [])

    def test_in_exact_mode_each_turn_is_counted_but_for_the_first_and_the_last(self):
        rounds = 3
        profile, ring = self.seen(str(rounds), options=("--mode=exact", "--profiles=stream"))
        streams = self.of_ring(profile)
        self.check_is_ring(streams[0], ring)
        turns = rounds * TURNS_A_ROUND
        self.assertLessEqual(streams[0]["occurrences"], turns)
        self.assertGreaterEqual(streams[0]["occurrences"], turns - rounds * LOST_TURNS)
        # All references of the run are counted, including the table's.
        total = profile["sampling"]["counters"]["stream_references"]
        self.assertGreater(total, rounds * (NODES * TURNS_A_ROUND + 50000))
        for stream in profile["streams"]:
            self.assertGreaterEqual(stream["heat"], 0.001 * total)

    def test_length_and_heat_are_as_asked_for(self):
        profile, _ = self.seen("3", options=("--mode=exact", "--profiles=stream",
                                             "--stream-length=5..20", "--stream-heat=2%"))
        self.assertTrue(profile["streams"])
        total = profile["sampling"]["counters"]["stream_references"]
        for stream in profile["streams"]:
            self.assertIn(stream["length"], range(5, 21))
            self.assertGreaterEqual(stream["heat"], 0.02 * total)

    def test_without_being_asked_for_there_are_none(self):
        profile, _ = self.seen(options=())
        self.assertEqual(profile["streams"], [])


if __name__ == "__main__":
    main()
