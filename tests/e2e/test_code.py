"""Code that changes during a run: its results stay right, and names are those of the code that
was executed."""

import collections
import os
import pathlib
import subprocess
import unittest

from harness import TestCase, main, taken, victim, whole


def instructions_by_function(profile):
    """Returns {(function, file name of its module)}: instructions of the function itself."""
    counts = collections.Counter()
    for stack in profile["stacks"]:
        location = profile.locations[stack["frames"][-1]]
        module = pathlib.Path(profile["modules"][location["module"]]["path"]).name
        counts[location["function"], module] += stack["instructions"]
    return counts


class MadeAtRunTime(TestCase):
    ROUNDS = {"rewrite": 500_000, "protect": 100_000, "move": 500_000, "dump": 200_000}

    def check(self, how):
        """Runs the victim in both modes. Returns the shares of instructions in code without a
        file, by name, and the profile, both of shadow samples."""
        for mode in ("live", "shadow"):
            with self.subTest(mode=mode):
                def is_enough(profile):
                    pathlib.Path(f"/tmp/perf-{profile['run']['pid']}.map").unlink(missing_ok=True)
                    complete = whole(profile)
                    return (taken(profile) if mode == "live" else complete) > 20

                done, profile = self.profile_until(
                    is_enough, lambda factor: (victim("jit"), how, str(self.ROUNDS[how] * factor)),
                    options=[f"--mode={mode}", "--sample-size=200k"])
                if done.code == 77:
                    self.skipTest("code cannot be made here")
                self.assertEqual((done.code, done.stdout), (0, b"jit: right\n"))
                ended = profile["sampling"]["ended"]
                self.assertEqual(ended.keys() - {"size", "met", "time", "exit", "idle", "unsafe_syscall"},
                                 set())
                # On a busy machine some samples begin while the program is loaded.
                self.assertLessEqual(ended.get("unsafe_syscall", 0), 0.1 * taken(profile) + 1)
        self.assert_sampled_well(profile)
        counts = instructions_by_function(profile)
        return {name: count / counts.total() for (name, module), count in counts.items()
                if module == "[anon]"}, profile

    def test_an_instruction_that_is_rewritten(self):
        shares, profile = self.check("rewrite")
        self.assertGreater(shares[None], 0.9)
        # Each loop adds another number: no outdated code was executed.
        added = {value["value"] for entry in profile["values"]
                 if (entry["operand"] == "rax" and
                     profile["modules"][profile.locations[entry["at"]]["module"]]["path"] == "[anon]")
                 for value in entry["top"]}
        self.assertGreater(len(added), 1)
        shown = self.shadowprof("report", self.profile_path).stdout.decode()
        self.assertIn("[jit]", shown)
        self.assertNotIn("[anon]", shown)

    def test_memory_that_is_writable_and_executable_in_turns(self):
        shares, _ = self.check("protect")
        self.assertGreater(shares[None], 0.9)

    def test_a_function_that_moves_keeps_its_name(self):
        shares, _ = self.check("move")
        self.assertGreater(shares["moving"], 0.9)
        self.assertNotIn(None, shares)

    def assert_named(self, shares, profile):
        self.assertNotIn(None, shares)
        self.assertAlmostEqual(shares["heavy"] / shares["light"], 3, delta=0.3)
        added = {location["text"] for location in profile.locations
                 if location["function"] in ("heavy", "light")}
        self.assertLessEqual({"add rax, 0x3", "add rax, 0x5"}, added)

    def test_functions_and_code_of_a_jitdump(self):
        self.assert_named(*self.check("dump"))

    # Each step is three instructions, with two more around them.
    HEAVY, LIGHT = 100 * (3 * 6000 + 2), 100 * (3 * 2000 + 2)

    def count_exactly(self, how):
        """Returns {(function, module): instructions} of code without a file."""
        done, profile = self.profile(victim("jit"), how, "100",
                                     options=["--mode=exact", "--follow-forks=yes"])
        if done.code == 77:
            self.skipTest("code cannot be made here")
        self.assertEqual((done.code, done.stdout), (0, b"jit: right\n"))
        counts = instructions_by_function(profile)
        return {name: count for name, count in counts.items() if name[1].startswith("[anon")}

    def test_a_jitdump_in_exact_mode(self):
        self.assertEqual(self.count_exactly("dump"), {("heavy", "[anon]"): self.HEAVY,
                                                      ("light", "[anon]"): self.LIGHT})

    def test_a_jitdump_does_not_name_the_next_program(self):
        self.assertEqual(self.count_exactly("dump-exec"),
                         {("heavy", "[anon]"): self.HEAVY, ("light", "[anon]"): self.LIGHT,
                          (None, "[anon]"): self.HEAVY + self.LIGHT})

    def test_a_child_has_the_names_of_its_own_jitdump(self):
        counts = self.count_exactly("dump-fork")
        (child,) = {module for _, module in counts} - {"[anon]"}
        self.assertEqual(counts, {("heavy", "[anon]"): self.HEAVY, ("light", "[anon]"): self.LIGHT,
                                  ("child_heavy", child): self.HEAVY,
                                  ("child_light", child): self.LIGHT})


class Libraries(TestCase):
    def test_one_that_comes_to_lie_where_another_was_has_its_own_names(self):
        plugins = [("first_work", "plugin_first.so"), ("other_work", "plugin_other.so")]

        def saw_both(profile):
            counts = instructions_by_function(profile)
            return all(counts[plugin] > 0 for plugin in plugins)

        done, profile = self.profile_until(
            saw_both, lambda factor: (victim("plugins"), victim("plugin_first.so"),
                                      victim("plugin_other.so"), str(4000 * factor)),
            options=["--sample-size=50k"])
        self.assertEqual(done.code, 0)
        counts = instructions_by_function(profile)
        modules = collections.defaultdict(set)
        for name, module in counts:
            modules[name].add(module)
        self.assertEqual(modules["first_work"], {"plugin_first.so"})
        self.assertEqual(modules["other_work"], {"plugin_other.so"})
        self.assertEqual([name for name, module in counts if module == "[anon]"], [])
        self.assertTrue(any("maps code" in note for note in profile["notes"]), profile["notes"])


class Memfds(TestCase):
    """Memory that shows a file without a path."""

    def counts(self, *command, mode):
        done, profile = self.profile(victim("memfd"), *command, options=[mode])
        if done.code == 77:
            self.skipTest("nothing is executed from a memfd here")
        self.assertEqual(done.code, 0, done.stderr)
        return instructions_by_function(profile), profile

    @unittest.skipUnless(os.geteuid() == 0, "the kernel opens a closed memfd for root only")
    def test_programs_and_libraries_in_memfds_have_their_names_and_lines(self):
        for mode, rounds in (("--load=2", 5000),):
            with self.subTest(mode=mode):
                counts, profile = self.counts("program", victim("memfd"), "library",
                                              victim("plugin_first.so"), str(rounds), mode=mode)
                self.assertGreater(counts["first_work", "memfd:a library"], 0.9 * counts.total())
                self.assertEqual([name for name, module in counts if module == "[anon]"], [])
                lines = {place["line"] for place in profile.locations
                         if place["function"] in ("main", "first_work")}
                self.assertNotIn(None, lines)

    def test_the_program_has_its_names_without_privileges(self):
        counts, _ = self.counts("program", victim("memfd"), "code", "5", mode="--mode=exact")
        self.assertGreater(counts["call_code", "memfd:a program"] +
                           counts["main", "memfd:a program"], 0)
        # What is no program has none.
        self.assertEqual(counts[None, "[anon]"], 5 * 3002)


class OtherNamespaces(TestCase):
    """Just-in-time compilers whose /tmp and process ids are their own."""

    UNSHARED = ("unshare", "-rpf", "--mount-proc")

    def setUp(self):
        super().setUp()
        command = [*self.UNSHARED, "mount", "-t", "tmpfs", "none", "/tmp"]
        if subprocess.run(command, capture_output=True).returncode != 0:
            self.skipTest("no namespaces are made here")

    def test_the_perf_map_names_code_after_the_process_and_its_folder_are_gone(self):
        for mode, rounds in (("--load=2", 200_000),):
            with self.subTest(mode=mode):
                done, profile = self.profile(
                    *self.UNSHARED, "sh", "-c",
                    f"mount -t tmpfs none /tmp; exec {victim('jit')} move {rounds}",
                    options=[mode, "--follow-forks=yes"])
                if done.code == 77:
                    self.skipTest("code cannot be made here")
                self.assertEqual((done.code, done.stdout), (0, b"jit: right\n"))
                counts = instructions_by_function(profile)
                names = {name for name, module in counts if module.startswith("[anon")}
                self.assertEqual(names, {"moving"})


if __name__ == "__main__":
    main()
