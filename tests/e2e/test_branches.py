"""Branches and what a model of a predictor makes of them, for a victim whose branches have a known
predictability: see tests/victims/branches.S."""

import json

from harness import TestCase, main, victim

ITERATIONS = 20_000
DEPTH = 100
RETURN_STACK = 32
# By label: executions and taken ones by iteration, and the least and most share of mispredictions.
TRUTHS = {
    "branches_alternating": ("conditional", 1, 0.5, 0, 0.02),
    "branches_random": ("conditional", 1, 0.5, 0.45, 0.56),
    "branches_inner": ("conditional", 7, 6, 0, 0.02),
    "branches_back": ("conditional", 1, 1, 0, 0.01),
    "branches_one_target": ("indirect-call", 1, 1, 0, 0.01),
    "branches_two_targets": ("indirect-call", 1, 1, 0, 0.02),
    "branches_random_targets": ("indirect-call", 1, 1, 0.70, 0.80),
    "branches_return_0": ("return", 1.75, 1.75, 0, 0),
    "branches_return_3": ("return", 0.25, 0.25, 0, 0),
    "branches_deep_return": ("return", 1, 1, 0.68, 0.68),
}


class Branches(TestCase):
    def branches_of(self, profile):
        """Returns the branches of the victim by the label of their instruction."""
        return {profile.name(each["at"]): each for each in profile["branches"]
                if profile.name(each["at"]) is not None}

    def seen(self, *options):
        done, profile = self.profile(victim("branches"), str(ITERATIONS), module=victim("branches"),
                                     options=("--profiles=edge,branch", *options))
        self.assertEqual(done.code, 0, done.stderr)
        return profile

    def test_exact_runs_know_each_branch(self):
        branches = self.branches_of(self.seen("--mode=exact"))
        for label, (kind, rate, taken, least, most) in TRUTHS.items():
            with self.subTest(label=label):
                branch = branches[label]
                self.assertEqual(branch["kind"], kind)
                # Random branches and targets come as often as expected to 3%.
                self.assertAlmostEqual(branch["executions"] / (rate * ITERATIONS), 1, delta=0.03)
                self.assertAlmostEqual(branch["taken"] / (taken * ITERATIONS), 1, delta=0.03)
                share = branch["mispredictions"] / branch["executions"]
                self.assertGreaterEqual(share, least)
                self.assertLessEqual(share, most)
        returns = branches["branches_deep_return"]
        self.assertEqual(returns["mispredictions"], ITERATIONS // 100 * (DEPTH - RETURN_STACK))

    def test_branches_agree_with_edges(self):
        profile = self.seen("--mode=exact")
        by_branch = {}
        for edge in profile["edges"]:
            if edge["kind"] in ("taken", "fall-through", "indirect", "return"):
                executions, taken = by_branch.get(edge["from"], (0, 0))
                by_branch[edge["from"]] = (executions + edge["count"],
                                           taken + (edge["kind"] != "fall-through") * edge["count"])
        calls = {each["at"] for each in profile["branches"] if each["kind"] == "indirect-call"}
        seen = {each["at"]: (each["executions"], each["taken"]) for each in profile["branches"]
                if each["at"] not in calls}
        self.assertEqual({at: by_branch[at] for at in seen}, seen)
        counters = profile["sampling"]["counters"]
        self.assertEqual(counters["branch_mispredictions"],
                         sum(each["mispredictions"] for each in profile["branches"]))
        self.assertEqual(counters["branches"],
                         sum(edge["count"] for edge in profile["edges"]))

    def test_the_model_is_in_the_profile_and_counts_repeat(self):
        profile, again = self.seen("--mode=exact"), self.seen("--mode=exact")
        self.assertEqual(profile["branch_model"]["return_stack_entries"], RETURN_STACK)
        self.assertEqual([table["history_bits"] for table in profile["branch_model"]["conditional"]],
                         [0, 5, 11, 26, 58, 132, 300])
        for label, branch in self.branches_of(profile).items():
            other = self.branches_of(again)[label]
            self.assertEqual([branch[key] for key in ("executions", "taken", "mispredictions")],
                             [other[key] for key in ("executions", "taken", "mispredictions")], label)

    def test_they_are_told_of_only_if_asked_for(self):
        done, profile = self.profile(victim("branches"), "1000",
                                     options=("--mode=exact", "--profiles=edge"))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(profile["branches"], [])
        self.assertNotIn("branch_model", profile.data)

    def test_reports_tables_and_merged_profiles_have_them(self):
        self.seen("--mode=exact")
        report = self.shadowprof("report", "--by=branch", self.profile_path)
        self.assertEqual(report.code, 0, report.stderr)
        self.assertRegex(report.stdout.decode(), r"branches_run\+0x\w+ +indirect-call")
        table = self.shadowprof("export", "--format=csv", "--table=branches", self.profile_path)
        self.assertEqual(table.code, 0, table.stderr)
        self.assertIn("kind,executions,taken,mispredictions", table.stdout.decode().splitlines()[0])
        merged = self.folder / "merged.json"
        done = self.shadowprof("merge", "-q", "-o", merged, self.profile_path, self.profile_path)
        self.assertEqual(done.code, 0, done.stderr)
        once, twice = (json.loads(path.read_text()) for path in (self.profile_path, merged))
        self.assertEqual(twice["branch_model"], once["branch_model"])
        self.assertEqual(sum(each["executions"] for each in twice["branches"]),
                         2 * sum(each["executions"] for each in once["branches"]))


if __name__ == "__main__":
    main()
