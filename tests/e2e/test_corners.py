"""Programs that do rare things: each checks itself, and has the same effect natively and
emulated."""

import shutil

from harness import SHADOWPROF, TestCase, main, taken, victim

NOT_HERE = 77
KINDS = ("low", "handler", "stack", "protected", "file_end", "x87", "machine", "vsyscall", "alias",
         "secret", "wait")


class Corners(TestCase):
    def check(self, done, kind):
        if done.code == NOT_HERE:
            self.skipTest(f"there is no {kind} here")
        self.assertEqual((done.code, done.stdout), (0, f"corners: {kind} 0\n".encode()),
                         done.stderr)

    def test_nothing_diverges(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                done = self.shadowprof("verify", "--", victim("corners"), kind)
                self.check(done, kind)
                self.assertIn(" 0 diverged", done.stderr)
                if kind == "secret":
                    self.assertEqual(done.stderr.count("memfd_secret"), 1, done.stderr)

    def test_samples_are_not_noticed(self):
        for kind in KINDS:
            for mode in ("shadow", "live", "exact"):
                with self.subTest(kind=kind, mode=mode):
                    done, _ = self.profile(victim("corners"), kind, options=[f"--mode={mode}"])
                    self.check(done, kind)

    def test_samples_of_low_memory_do_not_fault(self):
        for mode in ("shadow", "live"):
            with self.subTest(mode=mode):
                _, profile = self.profile_until(
                    lambda profile: taken(profile) > 5,
                    lambda factor: (victim("corners"), "low", str(100 * factor)),
                    options=[f"--mode={mode}"])
                self.assertNotIn("fault", profile["sampling"]["ended"])
                self.assertNotIn("no_room", profile["sampling"]["ended"])


class FixedAddresses(TestCase):
    def test_low_program_and_profiler_without_random_addresses(self):
        """Both would have the same addresses."""
        setarch = shutil.which("setarch")
        if setarch is None:
            self.skipTest("there is no setarch here")
        for name in ("layout_no_pie", "layout_static", "layout"):
            with self.subTest(program=name):
                done = self.run_command([setarch, "-R", SHADOWPROF, "verify", "--",
                                         victim(name), "1"])
                if "personality" in done.stderr:
                    self.skipTest("addresses cannot be fixed here")
                self.assertEqual(done.code, 0, done.stderr)
                self.assertRegex(done.stderr, r"\b0 diverged")


if __name__ == "__main__":
    main()
