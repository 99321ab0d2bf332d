"""Accesses to memory and what modelled caches miss, for a victim that walks through memory of a
known size: see tests/victims/caches.S."""

import json
import os
import pathlib

from harness import TestCase, main, victim

ROUNDS = 4
SYSFS = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")


def host_sizes():
    """Returns {name: bytes} of the host's first data caches; empty if the kernel says nothing."""
    sizes = {}
    for index in sorted(SYSFS.glob("index*")):
        if (index / "type").read_text().strip() == "Instruction":
            continue
        level = (index / "level").read_text().strip()
        sizes["L1d" if level == "1" else f"L{level}"] = 1024 * int((index / "size").read_text().strip("K\n"))
    return sizes


class Cache(TestCase):
    def seen(self, bytes_, stride, options=("--mode=exact",)):
        """Returns a profile, and the accesses of the victim by the label of their instruction."""
        done, profile = self.profile(victim("caches"), str(bytes_), str(stride), str(ROUNDS),
                                     module=victim("caches"),
                                     options=("--profiles=edge,cache", *options))
        self.assertEqual(done.code, 0, done.stderr)
        return profile, {profile.name(each["at"]): each for each in profile["cache"]
                         if profile.name(each["at"]) is not None}

    def levels(self):
        profile, _ = self.seen(4096, 64)
        return profile["cache_model"]["levels"]

    def assert_near(self, count, expected, lines, label):
        """What else the program accesses shares the caches, and takes some lines away."""
        self.assertGreaterEqual(count, 0.97 * expected, label)
        self.assertLessEqual(count, expected + 0.03 * lines * ROUNDS + 8, label)

    def assert_misses(self, bytes_, stride, first, second):
        """Checks the misses of both levels: of each round, or of none once a level is warm."""
        count = bytes_ // stride
        # The walk comes by many words of a line, the chase comes back to the line when it is gone.
        lines = min(count, bytes_ // 64)
        _, accesses = self.seen(bytes_, stride)
        self.assertEqual(accesses["caches_fill_store"]["accesses"], count)
        self.assert_near(accesses["caches_fill_store"]["l1_misses"], lines, lines, "fill")
        for label in ("caches_walk_load", "caches_chase_load"):
            each = accesses[label]
            self.assertEqual(each["accesses"], ROUNDS * count)
            misses = lines if label == "caches_walk_load" else count
            self.assert_near(each["l1_misses"], ROUNDS * misses * first, lines, label)
            self.assert_near(each["l2_misses"], ROUNDS * misses * second, lines, label)

    def test_what_fits_a_level_misses_once_and_what_does_not_misses_each_time(self):
        l1, l2 = (level["size_bytes"] for level in self.levels()[:2])
        for size, stride, first, second in ((l1 // 2, 64, 0, 0), (l1 // 2, 8, 0, 0), (4 * l1, 64, 1, 0),
                                            (4 * l1, 256, 1, 0), (2 * l2, 128, 1, 1)):
            with self.subTest(size=size, stride=stride):
                self.assert_misses(size, stride, first, second)

    def test_the_model_is_the_hosts(self):
        profile, _ = self.seen(4096, 64)
        sizes = host_sizes()
        model = profile["cache_model"]
        if model["source"] == "host":
            self.assertEqual({level["name"]: level["size_bytes"] for level in model["levels"]},
                             {name: sizes[name] for name in ("L1d", "L2", "L3") if name in sizes})
        counters = profile["sampling"]["counters"]
        for counter, field in (("cache_accesses", "accesses"), ("cache_l1_misses", "l1_misses"),
                               ("cache_l2_misses", "l2_misses"), ("cache_l3_misses", "l3_misses")):
            self.assertEqual(counters[counter], sum(each[field] for each in profile["cache"]))

    def test_samples_have_no_misses_and_say_so(self):
        profile, _ = self.seen(4096, 64, ("--mode=shadow",))
        self.assertEqual(profile["cache"], [])
        self.assertNotIn("cache_model", profile.data)

    def test_counts_repeat_and_limits_compare_them(self):
        self.seen(4096, 64)
        base = self.folder / "base.json"
        os.rename(self.profile_path, base)
        self.seen(4096, 64)
        limits = ("--fail-if=cache.l1-misses>+0", "--fail-if=cache.accesses>+0")
        same = self.shadowprof("diff", *limits, base, self.profile_path)
        self.assertEqual(same.code, 0, same.stdout)
        self.seen(8 * 4096, 64)
        more = self.shadowprof("diff", *limits, "--format=json", base, self.profile_path)
        self.assertEqual(more.code, 3, more.stdout)
        found = json.loads(more.stdout)
        self.assertEqual({limit["verdict"] for limit in found["limits"]}, {"exceeded"})
        self.assertIn("cache.l1-misses", {total["name"] for total in found["totals"]})
        changed = json.loads(self.profile_path.read_text())
        changed["cache_model"]["levels"][0]["ways"] += 1
        self.profile_path.write_text(json.dumps(changed))
        refused = self.shadowprof("diff", *limits, base, self.profile_path)
        self.assertEqual(refused.code, 1)
        self.assertIn("parameters of the models differ", refused.stderr)
        merged = self.shadowprof("merge", "-q", "-o", self.folder / "merged.json", base, self.profile_path)
        self.assertEqual(merged.code, 0, merged.stderr)
        sum_ = json.loads((self.folder / "merged.json").read_text())
        self.assertNotIn("cache_model", sum_)
        self.assertIn("accesses of caches of different sizes were added up", sum_["notes"])


if __name__ == "__main__":
    main()
