"""All views of a profile say the same of a function: its instructions, calls and entries."""

import collections
import csv
import io

from harness import TestCase, main, victim


class Function:
    """What a view says of a function."""

    def __init__(self, instructions=0, entries=0, calls=0):
        self.instructions, self.entries, self.calls = instructions, entries, calls


class Views(TestCase):
    def export(self, form, *options):
        done = self.shadowprof("export", f"--format={form}", *options, self.profile_path)
        self.assertEqual(done.code, 0, done.stderr)
        return done.stdout

    def csv_table(self, table):
        text = self.export("csv", f"--table={table}").decode(errors="replace")
        return list(csv.DictReader(io.StringIO(text)))


class Tails(Views):
    """Of the victim `tails`, see there."""

    ROUNDS = 1000
    TRUTH = {"tails_cold": (2 * ROUNDS, ROUNDS), "tails_hot": (6 * ROUNDS, 3 * ROUNDS // 2),
             "tails_maybe": (5 * ROUNDS // 2, ROUNDS), "tails_split": (4 * ROUNDS, ROUNDS),
             "tails_split_far": (2 * ROUNDS, ROUNDS), "abs@plt": (None, ROUNDS),
             "abs": (None, ROUNDS)}

    def setUp(self):
        super().setUp()
        done, self.seen = self.profile(victim("tails"), str(self.ROUNDS), options=("--mode=exact",))
        self.assertEqual(done.code, 0, done.stderr)

    def test_instructions_and_entries_belong_to_the_function_that_was_jumped_to(self):
        found = {row["function"]: row for row in self.csv_table("functions")}
        for name, (instructions, entries) in self.TRUTH.items():
            self.assertTrue(name in found, name)
            self.assertEqual(int(found[name]["entries"]), entries, name)
            if instructions is not None:
                self.assertEqual(int(found[name]["instructions"]), instructions, name)

    def test_calls_through_the_linkage_table_are_calls_of_the_function_behind(self):
        calls = collections.Counter()
        for row in self.csv_table("calls"):
            calls[row["site_function"], row["callee_function"]] += int(row["count"])
        self.assertGreaterEqual(calls["tails_run", "abs"], self.ROUNDS)
        self.assertEqual(calls["tails_run", "abs@plt"], 0)
        self.assertEqual(calls["tails_run", "tails_cold"], self.ROUNDS)

    def test_functions_that_are_only_jumped_to_can_be_annotated(self):
        done = self.shadowprof("annotate", self.profile_path, "tails_hot")
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn(b"tails_hot", done.stdout)


if __name__ == "__main__":
    main()
