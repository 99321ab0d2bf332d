"""accuracy and merge: with real runs, whose true counts are known, and with files that are no
profiles."""

import json
import os
import pathlib
import shutil

from harness import WORK_FACTORS, TestCase, main, once, shared_folder, victim

KINDS = "--profiles=edge,path,value,call"
# The loop of the victim `paths` repeats exactly, so its shares do not depend on how long it runs.
# FEW is for runs that are followed as a whole. MANY is long enough that samples in the program's
# start do not matter.
FEW, MANY = 300_000, 30_000_000
SAMPLES = 20

MEASURES = (("paths", "accuracy"), ("edges", "accuracy"), ("calls", "overlap"),
            ("methods", "overlap"))


class Files(TestCase):
    def make(self, path, rounds, *options):
        """Makes a profile of the victim `paths`."""
        done = self.shadowprof("run", "-q", "-o", path, KINDS, *options, "--", victim("paths"),
                               rounds)
        self.assertEqual(done.code, 0, done.stderr)
        return path

    def copy_of(self, name, make):
        """Returns a copy, in the test's folder, of a profile that is made only once."""
        made = once(name, lambda: make(shared_folder() / name))
        return pathlib.Path(shutil.copy(made, self.folder))

    def exact(self):
        return self.copy_of("exact.json", lambda path: self.make(path, FEW, "--mode=exact"))

    def sampled(self, seed):
        def make(path):
            for factor in WORK_FACTORS:
                self.make(path, factor * MANY, "--load=0.5", f"--seed={seed}")
                if json.loads(path.read_text())["sampling"]["samples"] >= SAMPLES:
                    break
            return path

        return self.copy_of(f"sampled-{seed}.json", make)

    def accuracy(self, full, sampled, *options):
        done = self.shadowprof("accuracy", "--json", *options, full, sampled)
        self.assertEqual(done.code, 0, done.stderr)
        return json.loads(done.stdout)

    def merge(self, *inputs, out="merged.json"):
        done = self.shadowprof("merge", "-o", self.folder / out, *inputs)
        self.assertEqual(done.code, 0, done.stderr)
        data = json.loads((self.folder / out).read_text())
        self.assert_valid(data)
        return data

    @staticmethod
    def counts(data):
        """Returns {(kind, places): count} of edges and calls. Places do not depend on indexes."""
        def place(index):
            location = data["locations"][index]
            return data["modules"][location["module"]]["path"], location["address"]

        found = {("edge", place(e["from"]), place(e["to"]), e["kind"]): e["count"]
                 for e in data["edges"]}
        found |= {("call", place(c["site"]), place(c["callee"])): c["count"]
                  for c in data["calls"]}
        return found


class Accuracy(Files):
    def test_sampled_profile_is_near_the_exact_one(self):
        full = self.exact()
        seen = self.accuracy(full, self.sampled(1))
        self.assertTrue(seen["full_is_exact"], seen["notes"])
        # Every sample of the loop has nearly the true shares.
        for metric, measure in MEASURES:
            self.assertGreater(seen[metric][measure], 0.8, metric)
        self.assertLess(seen["values"]["difference"], 0.2)
        self.assertLess(seen["invariances"]["difference"], 0.2)
        self.assertGreater(seen["values"]["covered"], 0.5)
        for metric, measure in MEASURES:
            self.assertLessEqual(seen[metric][measure], 1, metric)
        self.assertGreater(seen["coverage"], 0)
        self.assertIsNone(seen["streams"])

    def test_floors_are_of_another_exact_run(self):
        again = self.folder / "again.json"
        self.make(again, FEW, "--mode=exact")
        seen = self.accuracy(self.exact(), self.sampled(1), f"--floor={again}")
        self.assertEqual(seen["floor"]["path"], str(again))
        # The loop repeats exactly, but the program's start may not.
        for metric, measure in MEASURES:
            self.assertGreater(seen[metric]["floor"], 0.99, metric)
        # Its counters never repeat a value: the shares of their top values are random.
        self.assertLess(seen["values"]["floor"], 0.1)
        self.assertLess(seen["invariances"]["floor"], 0.01)

    def test_profile_agrees_with_itself(self):
        full = self.exact()
        seen = self.accuracy(full, full)
        self.assertAlmostEqual(seen["edges"]["accuracy"], 1)
        self.assertAlmostEqual(seen["paths"]["accuracy"], 1)
        self.assertEqual(seen["coverage"], 1)
        self.assertEqual(seen["edges"]["worst"], [])

    def test_values_that_were_not_collected_are_left_out(self):
        full = self.folder / "full.json"
        done = self.shadowprof("run", "-q", "-o", full, "--mode=exact", "--profiles=edge", "--",
                               victim("paths"), FEW)
        self.assertEqual(done.code, 0, done.stderr)
        seen = self.accuracy(full, self.sampled(1))
        self.assertIsNone(seen["values"])
        self.assertIn("values: FULL has no values", seen["notes"])
        text = self.shadowprof("accuracy", full, self.sampled(1)).stdout
        self.assertIn(b"values      difference not counted: FULL has no values", text)
        self.assertIn(b"invariances difference not counted: FULL has no values", text)
        self.assertIsNotNone(seen["edges"])

    def test_text_names_the_worst_entries(self):
        full = self.exact()
        done = self.shadowprof("accuracy", "--top=2", full, self.sampled(1))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn(b"edges       accuracy", done.stdout)
        worst = done.stdout.partition(b"Edges that differ most\n")[2].partition(b"\n\n")[0]
        self.assertEqual(len(worst.splitlines()), 3)  # the heading and two edges
        self.assertIn(b" -> ", worst)

    def test_different_programs_are_refused(self):
        other = self.folder / "other.json"
        done = self.shadowprof("run", "-q", "-o", other, "--mode=exact", "--", victim("edges"),
                               "100")
        self.assertEqual(done.code, 0, done.stderr)
        done = self.shadowprof("accuracy", self.exact(), other)
        self.assertEqual(done.code, 125)
        self.assertIn("different programs", done.stderr)
        self.assertEqual(done.stdout, b"")

    def test_floors_of_different_programs_are_refused(self):
        other = self.folder / "other.json"
        self.shadowprof("run", "-q", "-o", other, "--mode=exact", "--", victim("edges"), "100")
        done = self.shadowprof("accuracy", f"--floor={other}", self.exact(), self.sampled(1))
        self.assertEqual(done.code, 125)
        self.assertIn("--floor: these are profiles of different programs", done.stderr)

    def test_bad_arguments_and_files(self):
        for words, part in ((["a.json"], "SAMPLED"), (["-", "-"], "standard input"),
                            (["--top=few", "-", "a"], "--top"), (["a.json", "b.json"], "a.json"),
                            (["--nonsense", "a", "b"], "nonsense")):
            with self.subTest(words=words):
                done = self.shadowprof("accuracy", *words)
                self.assertEqual(done.code, 125)
                self.assertIn(part, done.stderr)


class Merge(Files):
    def test_merged_runs_add_up_and_are_as_good_as_the_worst(self):
        full, runs = self.exact(), [self.sampled(seed) for seed in (1, 2, 3)]
        merged = self.merge(*runs)
        single = [json.loads(run.read_text()) for run in runs]
        for field in ("instructions", "samples"):
            self.assertEqual(merged["sampling"][field],
                             sum(run["sampling"][field] for run in single))
        wanted = {}
        for run in single:
            for key, count in self.counts(run).items():
                wanted[key] = wanted.get(key, 0) + count
        self.assertEqual(self.counts(merged), wanted)
        self.assertEqual(merged["run"]["merged_runs"], 3)
        # On a busy machine some runs did more work than others.
        commands = [run["run"]["command"] for run in single]
        same = all(command == commands[0] for command in commands)
        self.assertEqual(merged["run"]["command"], commands[0] if same else [])
        self.assertEqual(merged["run"]["started"], min(run["run"]["started"] for run in single))
        names = {location["function"] for location in merged["locations"]}
        self.assertLessEqual({"paths_run", "paths_callee"}, names)
        # A mean is no farther from the truth than the farthest of its parts.
        accuracies = [self.accuracy(full, run)["edges"]["accuracy"] for run in runs]
        together = self.accuracy(full, self.folder / "merged.json")["edges"]["accuracy"]
        self.assertGreaterEqual(together, min(accuracies) - 1e-9)

    def test_order_and_grouping_do_not_matter(self):
        one, two, three = (self.sampled(seed) for seed in (1, 2, 3))
        left = self.merge(one, two, three, out="left.json")
        self.merge(three, two, out="part.json")
        right = self.merge(self.folder / "part.json", one, out="right.json")
        self.assertEqual(self.counts(left), self.counts(right))
        for data in (left, right):  # sums of seconds and errors are rounded
            data["run"].pop("seconds")
        self.assertEqual(left["run"], right["run"])
        for field in ("modules", "locations", "notes", "threads"):
            self.assertEqual(left[field], right[field])

    def test_standard_input_and_output(self):
        run = self.sampled(1)
        with open(run, "rb") as file:
            done = self.shadowprof("merge", "-o", "-", "-", run, stdin=file)
        self.assertEqual(done.code, 0, done.stderr)
        data = json.loads(done.stdout)
        self.assert_valid(data)
        self.assertEqual(data["run"]["merged_runs"], 2)
        self.assertEqual(data["run"]["command"], json.loads(run.read_text())["run"]["command"])
        self.assertIn("2 runs", done.stderr)

    def test_a_sum_of_exact_and_sampled_runs_says_that_these_do_not_weigh_the_same(self):
        out = self.folder / "mixed.json"
        done = self.shadowprof("merge", "-o", out, self.exact(), self.sampled(1))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn("shadowprof: merge: exact and sampled profiles were added up", done.stderr)
        notes = json.loads(out.read_text())["notes"]
        self.assertTrue(any("exact ones outweigh" in note for note in notes), notes)
        done = self.shadowprof("merge", "-q", "-o", out, self.exact(), self.sampled(1))
        self.assertEqual((done.code, done.stderr), (0, ""))
        done = self.shadowprof("merge", "-o", out, self.sampled(1), self.sampled(1))
        self.assertNotIn("outweigh", done.stderr)

    def test_programs_may_differ(self):
        other = self.folder / "other.json"
        self.shadowprof("run", "-q", "-o", other, "--mode=exact", KINDS, "--", victim("edges"),
                        "100")
        merged = self.merge(self.exact(), other)
        paths = {os.path.basename(module["path"]) for module in merged["modules"]}
        self.assertLessEqual({"edges", "paths"}, paths)
        self.assertEqual(merged["run"]["command"], [])
        done = self.shadowprof("report", self.folder / "merged.json")
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn(b"2 runs together", done.stdout)

    def test_an_input_may_be_the_output(self):
        run = self.sampled(1)
        before = run.read_bytes()
        self.merge(run, run, out=run.name)
        self.assertEqual((self.folder / (run.name + ".old")).read_bytes(), before)

    def refused(self, *inputs):
        """Checks that merging fails and leaves the output as it was. Returns the message."""
        out = self.folder / "kept.json"
        out.write_text("precious")
        files = sorted(os.listdir(self.folder))
        done = self.shadowprof("merge", "-o", out, *inputs)
        self.assertEqual(done.code, 125)
        self.assertEqual(out.read_text(), "precious")
        self.assertEqual(sorted(os.listdir(self.folder)), files)
        return done.stderr

    def test_hostile_and_truncated_profiles_are_refused(self):
        run = self.sampled(1)
        text = run.read_text()
        bad = self.folder / "bad.json"
        for end in (0, 1, len(text) // 3, len(text) - 3):
            bad.write_text(text[:end])
            self.assertIn("bad.json", self.refused(run, bad))
        for change, place in (
                (lambda d: d["edges"][0].update({"from": 10 ** 9}), "location 1000000000"),
                (lambda d: d["edges"][1].update({"count": -1}), "/edges/1"),
                (lambda d: d["locations"][2].update({"module": 77}), "module 77"),
                (lambda d: d["run"].update({"merged_runs": "many"}), "merged_runs"),
                (lambda d: d.update({"schema": "shadowprof/9"}), "shadowprof/9")):
            data = json.loads(text)
            change(data)
            bad.write_text(json.dumps(data))
            message = self.refused(run, bad)
            self.assertIn("bad.json", message)
            self.assertIn(place, message)
        self.assertIn("no-such", self.refused(run, "no-such.json"))
        self.assertIn("standard input", self.refused("-", "-"))

    def test_bad_arguments(self):
        run = self.sampled(1)
        for words, part in (([run], "--output"), (["-o", "x.json"], "PROFILE"),
                            (["-o", "no/such/folder.json", run], "no/such")):
            with self.subTest(words=words):
                done = self.shadowprof("merge", *words)
                self.assertEqual(done.code, 125)
                self.assertIn(part, done.stderr)


if __name__ == "__main__":
    main()
