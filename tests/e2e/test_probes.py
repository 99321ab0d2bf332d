"""The examples of docs/probes.md, unchanged, on a victim whose true counts are known by
construction: see the comments in tests/victims/probes.S. No test here is about time."""

import csv
import io
import re

from harness import SOURCE, TestCase, cannot_time_loads, main, read_symbols, victim

VICTIM = victim("probes")
LINE_BYTES = 64


def examples():
    """Returns {name: text} of the document's examples, in their order."""
    text = (SOURCE / "docs/probes.md").read_text()
    section = text[text.index("## Ten examples"):]
    section = section[:section.index("\n## ", 1)]
    probes = re.findall(r"```\n(.*?)\n```", section, re.DOTALL)
    return {probe.split(":")[0]: probe for probe in probes}


EXAMPLES = examples()
# The true latencies of a machine are unknown. The other examples have known results.
NOT_TRUE_HERE = {"slow"}


def bits(value):
    return int(value).bit_length()


class Seen:
    """What one probe saw, by the labels of the victim."""

    def __init__(self, profile, name):
        self.profile = profile
        self.probe = next(probe for probe in profile["probes"] if probe["name"] == name)

    def key(self, entry):
        if "key_at" in entry:
            return self.profile.name(entry["key_at"])
        return int(entry["key"], 16) if "key" in entry else None

    def value(self, top):
        if "value_at" in top:
            return self.profile.name(top["value_at"])
        return int(top["value"], 16)

    def entries(self):
        """Returns {key: entry}, with numbers or labels as keys."""
        return {self.key(entry): entry for entry in self.probe["entries"]}

    def tops(self):
        """Returns {key: {value: count}}."""
        return {key: {self.value(top): top["count"] for top in entry["top"]}
                for key, entry in self.entries().items()}


class Probes(TestCase):
    def probes(self):
        symbols = read_symbols(VICTIM)
        return [f"--probe={text.replace('0x404040', hex(symbols['probes_variable']))}"
                for name, text in EXAMPLES.items() if name not in NOT_TRUE_HERE]

    def seen(self, *iterations, options=()):
        done, profile = self.profile(VICTIM, *iterations, module=VICTIM,
                                     options=[*options, *self.probes()])
        self.assertEqual(done.code, 0, done.stderr)
        return profile

    def exact(self, quarters=500):
        return self.seen(str(quarters), options=("--mode=exact",)), 4 * quarters

    def test_the_document_has_ten_examples_that_are_tested(self):
        self.assertEqual(len(set(EXAMPLES) - NOT_TRUE_HERE), 10)

    def test_exact_hotlists_are_what_the_victim_does(self):
        profile, n = self.exact()
        symbols = read_symbols(VICTIM)
        self.assertEqual(Seen(profile, "divisors").tops()["probes_divide"],
                         {10: 3 * n // 4, 7: n // 4})
        line = symbols["probes_line"] // LINE_BYTES * LINE_BYTES
        self.assertEqual(Seen(profile, "writers").tops(), {line: {
            "probes_one_writes": n, "probes_two_writes": n, "probes_two_adds": n}})
        self.assertEqual(Seen(profile, "alignment").tops(), {None: {0: 2 * n, 4: n, 8: n}})
        self.assertEqual(Seen(profile, "selector").tops(),
                         {"probes_choice": {0: 3 * n // 2, 1: n // 2}})
        readers = Seen(profile, "reads").tops()
        for reader in ("probes_first_reader", "probes_second_reader"):
            self.assertEqual(readers[reader], {0: n // 2, 1: n // 2}, reader)

    def test_exact_histograms_are_what_the_victim_does(self):
        profile, n = self.exact()
        sizes = Seen(profile, "sizes").entries()
        first, second = sizes["probes_first_caller"], sizes["probes_second_caller"]
        self.assertEqual(first["histogram"], [[bits(24), n]])
        self.assertEqual((first["least"], first["most"], first["mean"]), ("0x18", "0x18", 24))
        self.assertEqual(second["histogram"], [[bits(64), n]])
        self.assertEqual((second["least"], second["most"]), ("0x40", "0x7f"))
        self.assertEqual(int(second["sum"], 16), sum(64 + i % 64 for i in range(n)))
        lengths = Seen(profile, "lengths").entries()[None]
        self.assertEqual(lengths["histogram"], [[bits(8), n], [bits(50), n]])
        depth = Seen(profile, "depth").entries()[None]
        self.assertEqual(depth["histogram"], [[bits(8), n], [bits(24), n], [bits(40), 2 * n]])
        self.assertEqual((depth["least"], depth["most"]), ("0x8", "0x38"))

    def test_exact_counts_are_what_the_victim_does(self):
        profile, n = self.exact()
        symbols = read_symbols(VICTIM)
        locks = {key: entry["count"] for key, entry in Seen(profile, "locks").entries().items()}
        self.assertEqual(locks[symbols["probes_first_lock"]], 2 * n)
        self.assertEqual(locks[symbols["probes_second_lock"]], n)
        zeros = Seen(profile, "zeros")
        self.assertEqual({key: entry["count"] for key, entry in zeros.entries().items()},
                         {"probes_pointer": n // 4})
        self.assertEqual(zeros.probe["hits"], n // 4)
        self.assertEqual(zeros.probe["missed"], 0)

    def test_samples_see_the_same_in_proportion(self):
        for mode in ("shadow", "live"):
            with self.subTest(mode=mode):
                done, profile = self.profile_until(
                    lambda seen: all(probe["hits"] > 500 for probe in seen["probes"]),
                    lambda factor: (VICTIM, str(factor * 2_000_000)), module=VICTIM,
                    options=(f"--mode={mode}", "--budget=20%", *self.probes()))
                self.assertEqual(done.code, 0, done.stderr)
                self.check_proportions(profile)

    def check_proportions(self, profile):
        for name in set(EXAMPLES) - NOT_TRUE_HERE:
            self.assertGreater(Seen(profile, name).probe["hits"], 100, name)
        divisors = Seen(profile, "divisors").tops()["probes_divide"]
        self.assertEqual(set(divisors), {10, 7})
        self.assertAlmostEqual(divisors[10] / sum(divisors.values()), 0.75, delta=0.01)
        sizes = Seen(profile, "sizes").entries()
        self.assertEqual(sizes["probes_first_caller"]["histogram"][0][0], bits(24))
        self.assertEqual(sizes["probes_second_caller"]["histogram"][0][0], bits(64))
        (writers,) = Seen(profile, "writers").tops().values()
        self.assertEqual(set(writers),
                         {"probes_one_writes", "probes_two_writes", "probes_two_adds"})
        (alignment,) = Seen(profile, "alignment").tops().values()
        self.assertAlmostEqual(alignment[0] / sum(alignment.values()), 0.5, delta=0.01)
        self.assertEqual(set(Seen(profile, "zeros").entries()), {"probes_pointer"})

    def test_probes_of_latencies_see_the_loads_that_are_timed(self):
        chase = victim("chase")

        def is_enough(seen):
            return seen["sampling"]["counters"]["latency_loads_timed"] > 500

        done, profile = self.profile_until(
            lambda seen: is_enough(seen) or cannot_time_loads(seen),
            lambda factor: (chase, "buckets", "65536", "small", str(400 * factor)), module=chase,
            options=("--profiles=latency", "--budget=50%", "--probe=all: latency >= 0 "
                     "{ histogram(latency) by at }", "--probe=none: true { count() }",
                     "--probe=who: latency >= 0 { count() by caller }"))
        self.assertEqual(done.code, 0, done.stderr)
        if not is_enough(profile):
            self.skipTest("a stop is too short for loads to be timed on this machine")
        counters = profile["sampling"]["counters"]
        timed, sessions = counters["latency_loads_timed"], counters["latency_sessions"]
        self.assertGreater(timed, sessions, counters)
        # In a burst that is cut off, the last load's time does not reach the probe.
        hits = Seen(profile, "all").probe["hits"]
        self.assertGreaterEqual(hits, timed - sessions)
        self.assertLessEqual(hits, timed)
        self.assertEqual(Seen(profile, "none").probe["hits"], 0)
        # While loads are timed, call stacks are not known.
        self.assertEqual(Seen(profile, "who").probe["hits"], 0)
        self.assertEqual(Seen(profile, "who").probe["missed"], Seen(profile, "all").probe["hits"])

    def test_a_probe_that_can_see_nothing_is_told_of(self):
        _, profile = self.profile(VICTIM, "1000", module=VICTIM,
                                  options=("--probe=slow: latency > 1 { count() }",))
        self.assertTrue(any("'slow' uses latency" in note for note in profile["notes"]),
                        profile["notes"])

    def test_what_was_seen_can_be_merged_reported_and_exported(self):
        profile, n = self.exact()
        merged = self.folder / "merged.json"
        done = self.shadowprof("merge", "-o", merged, self.profile_path, self.profile_path)
        self.assertEqual(done.code, 0, done.stderr)
        profile = self.read_profile(VICTIM, merged.read_text())
        self.assertEqual(Seen(profile, "divisors").tops()["probes_divide"],
                         {10: 3 * n // 2, 7: n // 2})
        report = self.shadowprof("report", merged)
        self.assertIn("Probe zeros, count: ", report.stdout.decode())
        done = self.shadowprof("export", "--format=csv", "--table=probes", merged)
        self.assertEqual(done.code, 0, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
        self.assertEqual([int(row["count"]) for row in rows if row["probe"] == "zeros"], [n // 2])

    def test_an_error_is_shown_with_a_caret(self):
        done = self.shadowprof("run", "-o", self.profile_path, "--probe=functoin == \"f\" {count()}",
                               "--", VICTIM, "1")
        self.assertEqual(done.code, 125)
        self.assertIn("unknown name 'functoin'; did you mean 'function'?\n  functoin ==",
                      done.stderr)
        self.assertIn("\n  ^", done.stderr)
        self.assertFalse(self.profile_path.exists())

    def test_without_probes_there_are_none(self):
        done, profile = self.profile(VICTIM, "1000", module=VICTIM, options=())
        self.assertEqual(done.code, 0)
        self.assertEqual(profile["probes"], [])


if __name__ == "__main__":
    main()
