"""Memory hazards and address patterns of victims whose truth is known by construction: see the
comments in tests/victims/hazards.S and addresses.S. No test is about time: addresses and
distances, which are the same on every machine, determine whether an access has a hazard."""

from harness import TestCase, main, victim

# Processors have different windows; the victim's distances are far below or above all of them.
PAIRS = {
    ("store-forward-blocked", "hazards_narrow_store", "hazards_wider_load"),
    ("store-forward-blocked", "hazards_shifted_store", "hazards_shifted_load"),
    ("4k-aliasing", "hazards_aliased_store", "hazards_aliased_load"),
}
SPLITS = {("line-split", "hazards_split_load"), ("line-split", "hazards_split_store"),
          ("page-split", "hazards_page_load")}

# Label: the pattern, and its stride if it has one.
PATTERNS = {"addresses_constant": ("constant", None), "addresses_forwards": ("stride", 8),
            "addresses_pointers": ("stride", 8), "addresses_backwards": ("stride", -64),
            "addresses_chase": ("chase", None), "addresses_pointed": ("chase", None),
            "addresses_random": ("irregular", None)}


class References(TestCase):
    def seen(self, program, *words, options):
        done, profile = self.profile(victim(program), *words, module=victim(program),
                                     options=options)
        self.assertEqual(done.code, 0, done.stderr)
        return profile

    def seen_until(self, enough, program, iterations, options):
        """Profiles with more and more iterations until `enough(profile)`."""
        done, profile = self.profile_until(
            enough, lambda factor: (victim(program), str(iterations * factor)),
            module=victim(program), options=options)
        self.assertEqual(done.code, 0, done.stderr)
        return profile

    def hazards_of(self, profile):
        """Returns {(kind, names): (count, executions)} of hazards at labels of the victim."""
        found = {}
        for hazard in profile["hazards"]:
            names = tuple(profile.name(hazard[end]) for end in ("store", "load", "at")
                          if end in hazard)
            if all(name and name.startswith("hazards_") for name in names):
                found[(hazard["kind"],) + names] = (hazard["count"], hazard["executions"])
        return found

    def hazards_until(self, least, options):
        """Returns a profile that has every hazard at least `least` times."""
        def enough(profile):
            found = self.hazards_of(profile)
            return all(found.get(what, (0, 0))[0] >= least for what in PAIRS | SPLITS)

        return self.seen_until(enough, "hazards", 8_000_000, options)

    def check_hazards(self, profile, least):
        found = self.hazards_of(profile)
        self.assertEqual(set(found), PAIRS | SPLITS)
        for what, (count, executions) in found.items():
            # The first execution in a burst may not have seen the previous store.
            self.assertGreaterEqual(count, least, what)
            self.assertGreaterEqual(count, 0.95 * executions, what)
            self.assertLessEqual(count, executions, what)

    def test_sampled_hazards_are_those_that_are_there_and_no_others(self):
        profile = self.hazards_until(100, ("--profiles=edge,hazard",))
        self.check_hazards(profile, 100)
        self.assertNotIn("hazards", " ".join(profile["notes"]))

    def test_hazards_in_exact_mode_are_every_one(self):
        profile = self.seen("hazards", "3000", options=("--mode=exact", "--profiles=hazard"))
        for what, counts in self.hazards_of(profile).items():
            self.assertEqual(counts, (3000, 3000), what)
        self.check_hazards(profile, 3000)

    def test_hazards_in_bursts_that_are_counted_in_events(self):
        profile = self.hazards_until(20, ("--profiles=edge,value,hazard", "--every=1000",
                                          "--burst-length=hazard:50"))
        self.check_hazards(profile, 20)
        self.assertEqual(profile["sampling"]["bursts"]["lengths"]["hazard"], 50)

    def test_loads_are_known_by_their_addresses(self):
        def by_name(profile):
            return {profile.name(entry["at"]): entry for entry in profile["addresses"]}

        def enough(profile):
            found = by_name(profile)
            return all(label in found and found[label]["count"] > 1000 for label in PATTERNS)

        profile = self.seen_until(enough, "addresses", 40_000_000,
                                  ("--profiles=edge,value,hazard",))
        found = by_name(profile)
        for label, (pattern, stride) in PATTERNS.items():
            entry = found[label]
            self.assertEqual(entry["pattern"], pattern, label)
            self.assertGreater(entry["count"], 1000, label)
            self.assertGreater(entry["share"], 0.95, label)
            self.assertEqual(sum(entry["counts"].values()), entry["count"], label)
            if stride is not None:
                self.assertEqual(entry["stride"], stride, label)
        # Values have bursts of their own.
        self.assertTrue(profile["values"])

    def test_without_being_asked_for_there_are_none(self):
        profile = self.seen("hazards", "100000", options=())
        self.assertEqual(profile["hazards"], [])
        self.assertEqual(profile["addresses"], [])


if __name__ == "__main__":
    main()
