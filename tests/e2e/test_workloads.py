"""Real programs: their output is the same as in a plain run, and their profiles are consistent."""


import workloads
from harness import INPUTS, TestCase, main, require_programs, whole


# Some programs end soon, and samples of program loading must be few among many.
LOADS = (0.5, 1, 2, 4)
SAMPLES = 20
# xz takes several times as long for the text as the other programs, so it gets a part.
TEXT_BYTES = {"xz": 3_000_000}


class Workloads(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        require_programs(*workloads.PROGRAMS)
        workloads.make_inputs(INPUTS)

    def inputs(self, name):
        """Returns the folder in which to run a workload."""
        if name not in TEXT_BYTES:
            return INPUTS
        with open(INPUTS / "text.txt", "rb") as text:
            (self.folder / "text.txt").write_bytes(text.read(TEXT_BYTES[name]))
        return self.folder

    def check(self, name):
        command, inputs = workloads.COMMANDS[name], self.inputs(name)
        plain = self.run_command(command, cwd=inputs)
        self.assertEqual(plain.code, 0, plain.stderr)
        best = None
        for load in LOADS:
            # Where memory is slow, samples by time would have only a few instructions.
            done, profile = self.profile(*command, cwd=inputs,
                                         options=[f"--load={load}", "--sample-size=1M"])
            self.assertEqual(done.code, plain.code)
            self.assertTrue(done.stdout == plain.stdout, "the output differs from a plain run's")
            self.assertEqual(done.stderr, plain.stderr)
            # If many replicas are emulated at a time and memory is slow, samples are cut off.
            if best is None or whole(profile) > whole(best):
                best = profile
            if whole(profile) >= SAMPLES:
                break
        profile = best
        self.assertEqual(profile["run"]["command"], command)
        self.assert_sampled_well(profile)
        for kind in ("edges", "paths", "values", "calls", "stacks"):
            self.assertGreater(len(profile[kind]), 0, f"no {kind}")
        self.assert_flow_is_conserved(profile)

    def assert_flow_is_conserved(self, profile):
        """Calls match returns, except those that samples cut off and those that longjmp skips."""
        totals = {}
        for edge in profile["edges"]:
            totals[edge["kind"]] = totals.get(edge["kind"], 0) + edge["count"]
        calls, returns = totals.get("call", 0), totals.get("return", 0)
        self.assertLessEqual(abs(calls - returns), 0.02 * (calls + returns) + 50 * profile.samples)


def add_test(name):
    setattr(Workloads, f"test_{name}", lambda self: self.check(name))


for each in workloads.COMMANDS:
    add_test(each)

if __name__ == "__main__":
    main()
