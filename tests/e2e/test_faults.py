"""Bad options, programs and places: errors are clear, and come before the target starts."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

from harness import NOBODY, SHADOWPROF, TestCase, main, taken, victim

OWN_FAILURE, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127


class Refused(TestCase):
    """Cases in which nothing may run and nothing may be written."""

    def setUp(self):
        super().setUp()
        self.trace = self.folder / "the-target-ran"

    def refuse(self, code, mentions, *words, **options):
        before = sorted(self.folder.iterdir())
        done = self.shadowprof(*words, **options)
        self.assertEqual((done.code, done.stdout), (code, b""), done.stderr)
        for mention in mentions:
            self.assertIn(mention, done.stderr)
        for line in done.stderr.splitlines():
            self.assertTrue(line.startswith("shadowprof: "), line)
        self.assertFalse(self.trace.exists(), "the target ran")
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def refuse_run(self, code, mentions, *options, **more):
        self.refuse(code, mentions, "run", *options, "touch", self.trace, **more)


class BadOptions(Refused):
    OPTIONS = [
        (["--load=fast"], ["--load", "'fast'", "0.0625"]),
        (["--load=0"], ["--load", "'0'", "0.0625"]),
        (["--sample-size=1.5"], ["--sample-size", "'1.5'", "k, M or G"]),
        (["--sample-size", "10"], ["--sample-size", "'10'", "1000"]),
        (["--duration=5h"], ["--duration", "'5h'", "us, ms, s or m"]),
        (["--delay=soon"], ["--delay", "'soon'"]),
        (["--max-samples=-3"], ["--max-samples", "'-3'"]),
        (["--threads=some"], ["--threads", "'some'", "all, main"]),
        (["--seed=lucky"], ["--seed", "'lucky'"]),
        (["--mode=fast"], ["--mode", "'fast'", "auto"]),
        (["--engine=qemu"], ["--engine", "'qemu'", "emulator"]),
        (["--profiles=edges"], ["--profiles", "'edges'", "edge"]),
        (["--follow-forks=maybe"], ["--follow-forks", "'maybe'"]),
        (["--until-converged=0"], ["--until-converged", "'0'", "percentage"]),
        (["--budget=lots"], ["--budget", "'lots'"]),
        (["--live-timing=2ms"], ["--live-timing", "'2ms'", "2ms/1s"]),
        (["--burst=1s/9s"], ["--live-timing", "'1s/9s'", "100ms"]),
        (["--profile=edge"], ["'--profile'", "'--profiles'"]),
        (["-x"], ["'-x'"]),
        (["--output=", "x.json"], ["--output ''", "name of a file"]),
        (["--control=no-such-file"], ["--control", "'no-such-file'", "mkfifo"]),
        (["--mode=exact", "--count-in="], ["--count-in ''", "name of a function"]),
    ]
    LATER = [["--engine=step"]]

    def test_bad_values_name_option_value_and_what_is_accepted(self):
        for options, mentions in self.OPTIONS:
            with self.subTest(options=options):
                self.refuse_run(OWN_FAILURE, mentions, *options)

    def test_what_is_not_in_this_version_says_so(self):
        for options in self.LATER:
            with self.subTest(options=options):
                name = options[0].partition("=")[0]
                self.refuse_run(OWN_FAILURE, [name, "not in this version"], *options)

    def test_bad_options_in_the_environment_name_it(self):
        for value in ("--load=fast", "--nonsense", "stray", "'open"):
            with self.subTest(value=value):
                self.refuse_run(OWN_FAILURE, ["SHADOWPROF_OPTIONS"],
                                env={"SHADOWPROF_OPTIONS": value})

    def test_no_program(self):
        self.refuse(OWN_FAILURE, ["no program"], "run")
        self.refuse(OWN_FAILURE, ["no program"], "run", "-q", "--")


class BadPrograms(Refused):
    def executable(self, name, content, mode=0o755):
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def test_missing(self):
        for name in ("no-such-program-anywhere", "./no-such-program", ""):
            with self.subTest(name=name):
                self.refuse(NOT_FOUND, [f"{name}'"], "run", "--", name)
        script = self.executable("script", b"#!/no/such/interpreter\n")
        self.refuse(NOT_FOUND, ["script", "/no/such/interpreter"], "run", script)

    def test_not_executable(self):
        for path in (self.executable("plain", b"#!/bin/sh\n", 0o644), self.folder):
            with self.subTest(path=path):
                self.refuse(NOT_EXECUTABLE, [path.name], "run", path)

    def test_of_32_bits(self):
        """A whole i386 program: its entry calls exit(0)."""
        code = bytes.fromhex("b801000000" "31db" "cd80")  # mov eax, 1; xor ebx, ebx; int 0x80
        base, headers = 0x08048000, 52 + 32
        header = b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + struct.pack(
            "<HHIIIIIHHHHHH", 2, 3, 1, base + headers, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        segment = struct.pack("<IIIIIIII", 1, 0, base, base, headers + len(code),
                              headers + len(code), 5, 4096)
        path = self.executable("i386", header + segment + code)
        self.refuse(OWN_FAILURE, ["i386"], "run", path)

    def test_set_user_id_without_the_right_to_keep_it(self):
        """If an ordinary user ran it, the program would lose its privileges, which would not be
        a faithful run."""
        if os.geteuid() != 0:
            self.skipTest("needs root to make a set-user-ID program of another user")
        shutil.copy(SHADOWPROF, self.folder / "shadowprof")
        program = self.folder / "as-root"
        shutil.copy(victim("dies"), program)
        program.chmod(0o4755)
        self.folder.chmod(0o777)
        done = self.run_command([self.folder / "shadowprof", "run", program, "exit=5"],
                                **NOBODY)
        self.assertEqual(done.code, OWN_FAILURE, done.stderr)
        self.assertIn("as-root", done.stderr)
        self.assertFalse((self.folder / "shadowprof.json").exists())


class BadPlaces(Refused):
    def test_output_that_cannot_be_written_is_found_before_the_target_starts(self):
        for place in (self.folder / "none/p.json", self.folder, "/proc/p.json",
                      self.folder / "%p/p.json"):
            with self.subTest(place=place):
                self.refuse_run(OWN_FAILURE, [str(place)], "-o", place)

    def test_folder_without_permission(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become another user")
        shutil.copy(SHADOWPROF, self.folder / "shadowprof")
        closed = self.folder / "closed"
        closed.mkdir()
        self.folder.chmod(0o777)
        done = self.run_command([self.folder / "shadowprof", "run", "-o", closed / "p.json",
                                 "touch", self.trace], **NOBODY)
        self.assertEqual(done.code, OWN_FAILURE, done.stderr)
        self.assertIn(str(closed), done.stderr)
        self.assertFalse(self.trace.exists())

    def test_profile_to_a_closed_standard_output(self):
        done = self.run_command(["sh", "-c", 'exec "$@" >&-', "sh", SHADOWPROF, "run", "-o", "-",
                                 "touch", str(self.trace)])
        self.assertEqual(done.code, OWN_FAILURE)
        self.assertIn("standard output", done.stderr)
        self.assertFalse(self.trace.exists())


class Places(TestCase):
    """Where the profile goes if all is well."""

    TARGET = ["sh", "-c", "exit 3"]

    def test_default_name_and_the_older_profile_kept(self):
        for _ in range(2):
            done = self.shadowprof("run", "-q", *self.TARGET)
            self.assertEqual((done.code, done.stderr), (3, ""))
        self.assertEqual({path.name for path in self.folder.iterdir()},
                         {"shadowprof.json", "shadowprof.json.old"})
        for path in self.folder.iterdir():
            self.read_profile(text=path.read_text())

    def test_pid_in_the_name(self):
        self.shadowprof("run", "-q", "-o", "p-%p.json", *self.TARGET)
        path, = self.folder.iterdir()
        profile = self.read_profile(text=path.read_text())
        self.assertEqual(path.name, f"p-{profile['run']['pid']}.json")

    def test_standard_output_behind_the_targets_own(self):
        done = self.shadowprof("run", "-q", "-o", "-", "echo", "hello")
        first, _, rest = done.stdout.partition(b"\n")
        self.assertEqual((done.code, first), (0, b"hello"))
        self.read_profile(text=rest.decode())
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_device(self):
        done = self.shadowprof("run", "-q", "-o", "/dev/null", *self.TARGET)
        self.assertEqual((done.code, done.stderr), (3, ""))
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def assert_kept_elsewhere(self, done, wanted, folder):
        self.assertEqual(done.code, OWN_FAILURE)
        self.assertIn(f"cannot write '{wanted}': No space left on device", done.stderr)
        kept = re.search(r"; the profile is in '(.*)' instead$", done.stderr.strip())
        self.assertIsNotNone(kept, done.stderr)
        path = pathlib.Path(kept.group(1))
        self.assertEqual(list(folder.iterdir()), [path])
        self.assertEqual(path.stat().st_mode & 0o7777, 0o600)
        self.assertEqual(self.shadowprof("report", path).code, 0)

    def test_a_profile_for_which_there_is_no_room_is_kept_elsewhere(self):
        folder = self.folder / "50% full"
        folder.mkdir()
        done = self.shadowprof("run", "-q", "-o", "/dev/full", *self.TARGET,
                               env={"TMPDIR": str(folder)})
        self.assert_kept_elsewhere(done, "/dev/full", folder)

    def test_a_full_disk(self):
        full, folder = self.folder / "full", self.folder / "room"
        full.mkdir()
        folder.mkdir()
        mounted = self.run_command(["mount", "-t", "tmpfs", "-o", "size=16k", "none", full])
        if mounted.code != 0:
            self.skipTest(f"no file system can be mounted: {mounted.stderr}")
        self.addCleanup(subprocess.run, ["umount", full], check=True)
        done = self.shadowprof("run", "-q", "--mode=exact", "-o", full / "x.json", *self.TARGET,
                               env={"TMPDIR": str(folder)})
        self.assert_kept_elsewhere(done, full / "x.json", folder)
        self.assertEqual(list(full.iterdir()), [])

    def test_a_limit_for_the_size_of_files_is_a_failure(self):
        done = self.run_command(["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", SHADOWPROF, "run",
                                 "-q", "--mode=exact", *self.TARGET])
        self.assertEqual(done.code, OWN_FAILURE)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_messages_go_to_standard_error(self):
        done = self.shadowprof("run", *self.TARGET)
        self.assertEqual((done.code, done.stdout), (3, b""))
        self.assertIn("shadowprof.json", done.stderr)
        for line in done.stderr.splitlines():
            self.assertTrue(line.startswith("shadowprof: "), line)


class Options(TestCase):
    """Options whose effect shows in the profile."""

    def options_of(self, *options, is_enough=lambda profile: True, **more):
        done, profile = self.profile_until(
            is_enough, lambda factor: (victim("edges"), str(5_000_000 * factor)), options=options,
            **more)
        self.assertEqual((done.code, done.stderr), (0, ""))
        return profile

    def test_max_samples(self):
        profile = self.options_of("--max-samples=3", is_enough=lambda profile: taken(profile) >= 3)
        self.assertEqual(taken(profile), 3)

    def test_a_profile_converges(self):
        """In each sample all edges of the loop have nearly the same shares."""
        done, profile = self.profile_until(
            lambda profile: profile["sampling"]["convergence"]["reached"],
            lambda factor: (victim("edges"), str(30_000_000 * factor)),
            # At its end the program checks its results, which would be a new phase.
            options=["--until-converged", "--load=1", "--max-samples=40"])
        self.assertEqual((done.code, done.stderr), (0, ""))
        convergence = profile["sampling"]["convergence"]
        self.assertTrue(convergence["reached"], convergence)
        self.assertEqual(convergence["limit_percent"], 5)
        self.assertLess(convergence["error_percent"], 5)
        self.assertGreaterEqual(convergence["samples"], 32)
        self.assertLess(convergence["seconds"], profile["run"]["seconds"])
        self.assertEqual(profile["run"]["exit"], {"status": 0})
        # The same value, computed from the profile's edges.
        hottest, covered = 0, 0
        total = sum(edge["count"] for edge in profile["edges"])
        for edge in profile["edges"][:100]:
            hottest = max(hottest, edge["error"] / edge["count"])
            covered += edge["count"]
            if 2 * covered >= total:
                break
        # Sampling would have resumed at twice the limit; the last samples may differ more.
        self.assertLess(hottest, 0.12)

    def test_a_new_phase_is_sampled_after_the_first_one_has_converged(self):
        """Two programs run one after the other, of which only the first converges soon."""
        def command(factor):
            work = 30_000_000 * factor
            return "sh", "-c", f"{victim('edges')} {work}; {victim('paths')} {work}"

        done, profile = self.profile_until(
            lambda profile: profile["sampling"]["convergence"]["taken_up_again"] != 0, command,
            options=["--until-converged=20%", "--load=1"])
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertGreaterEqual(profile["sampling"]["convergence"]["taken_up_again"], 1)
        names = {location.get("function") for location in profile["locations"]}
        self.assertIn("edges_run", names)
        self.assertIn("paths_run", names)

    def test_what_did_not_converge_says_how_far_it_came(self):
        def has_error(profile):
            return profile["sampling"]["convergence"]["error_percent"] is not None

        profile = self.options_of("--until-converged=0.0001", "--max-samples=40",
                                  is_enough=has_error)
        convergence = profile["sampling"]["convergence"]
        self.assertEqual((convergence["reached"], convergence["seconds"]), (False, None))
        self.assertGreater(convergence["error_percent"], 0.0001)
        few = self.options_of("--until-converged", "--max-samples=3")["sampling"]["convergence"]
        self.assertEqual((few["reached"], few["error_percent"]), (False, None))

    def test_sample_size(self):
        """A sample ends when it has its instructions; it may exceed them by a trace buffer."""
        size, buffer = 300_000, 100_000
        profile = self.options_of(
            f"--sample-size={size}",
            is_enough=lambda profile: profile["sampling"]["ended"].get("size", 0) >= 5)
        self.assert_sampled_well(profile)
        instructions = profile["sampling"]["instructions"]
        self.assertLess(instructions, (size + buffer) * taken(profile))
        self.assertGreater(instructions, 0.9 * size * profile["sampling"]["ended"]["size"])

    def test_no_sample_before_the_delay_or_after_the_duration(self):
        self.assertEqual(self.options_of("--delay=60m").samples, 0)
        self.assertEqual(self.options_of("--duration=0s").samples, 0)

    def test_kinds_left_out_are_empty(self):
        lists = {"edge": "edges", "path": "paths", "value": "values", "call": "calls"}
        for kind, name in lists.items():
            with self.subTest(kind=kind):
                profile = self.options_of(f"--profiles={kind}", "--max-samples=5",
                                          is_enough=lambda profile: len(profile[name]) > 0)
                self.assertGreater(len(profile[name]), 0)
                for other in set(lists.values()) - {name}:
                    self.assertEqual(profile.data.get(other, []), [], other)
                self.assertEqual({len(stack["frames"]) for stack in profile["stacks"]}, {1})

    def test_all_kinds_are_all(self):
        profile = self.options_of("--profiles=all", "--max-samples=5")
        self.assertIn("stream", profile["run"]["options"]["profiles"].split(","))
        self.assertFalse(any("not collected" in note for note in profile["notes"]),
                         profile["notes"])

    def test_seed_is_written_down(self):
        self.assertEqual(self.options_of("--seed=77", "--max-samples=1")["run"]["seed"], "0x4d")

    def test_environment_gives_options_and_the_command_line_wins(self):
        profile = self.options_of("--seed=2", "--max-samples=1",
                                  env={"SHADOWPROF_OPTIONS": "--seed=1 --load 0.5"})
        self.assertEqual(profile["run"]["seed"], "0x2")
        self.assertEqual(profile["run"]["options"]["load"], "0.5")


class Commands(TestCase):

    def test_help(self):
        for words in (["--help"], ["help"], ["-h"], ["run", "--help"], ["help", "run"],
                      ["attach", "--help"], ["help", "attach"], ["help", "syscalls"]):
            with self.subTest(words=words):
                done = self.shadowprof(*words)
                self.assertEqual((done.code, done.stderr), (0, ""))
                self.assertIn(b"Usage: shadowprof", done.stdout)

    def test_version(self):
        done = self.shadowprof("--version")
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertEqual(self.shadowprof("-V").stdout, done.stdout)
        first, *facts = done.stdout.decode().splitlines()
        self.assertRegex(first, r"^shadowprof \d+\.\d+\.\d+$")
        facts = dict(fact.split(maxsplit=1) for fact in facts)
        self.assertLessEqual({"compiler", "linked", "Zydis", "elfutils", "fmt", "libseccomp",
                              "libunwind", "zlib"}, set(facts))
        headers = subprocess.run(["readelf", "--program-headers", "--wide", SHADOWPROF], check=True,
                                 capture_output=True, text=True).stdout
        self.assertEqual(facts["linked"], "dynamically" if "INTERP" in headers else "statically")

    def test_version_has_no_date_and_no_path(self):
        for line in self.shadowprof("--version").stdout.decode().splitlines():
            if not line.startswith("source "):
                self.assertNotRegex(line, r"/|\d:\d\d|\b20\d\d\b")

    def test_no_word_is_a_request_for_help(self):
        done = self.shadowprof()
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertEqual(done.stdout, self.shadowprof("--help").stdout)

    def test_unknown_command(self):
        for typed, meant in (("rum", "run"), ("reprot", "report"), ("frobnicate", "help")):
            with self.subTest(typed=typed):
                done = self.shadowprof(typed)
                self.assertEqual((done.code, done.stdout), (OWN_FAILURE, b""))
                self.assertIn(f"'{typed}'", done.stderr)
                self.assertIn(meant, done.stderr)

    def test_unknown_option_in_the_place_of_a_command(self):
        for typed, meant in (("--versoin", "--version"), ("-q", "run -q")):
            with self.subTest(typed=typed):
                done = self.shadowprof(typed)
                self.assertEqual((done.code, done.stdout), (OWN_FAILURE, b""))
                self.assertIn(f"unknown option '{typed}'", done.stderr)
                self.assertIn(meant, done.stderr)

    def test_a_pattern_that_is_none_is_refused_with_the_remedy(self):
        for words, option in ((["report", "--filter=f[", "x"], "--filter 'f['"),
                              (["annotate", "x", "f["], "FUNCTION 'f['"),
                              (["run", "--count-in=f[", "x"], "--count-in 'f['"),
                              (["callgrind", "--toggle-collect=f[", "x"],
                               "--toggle-collect 'f['")):
            with self.subTest(words=words):
                done = self.shadowprof(*words)
                self.assertEqual((done.code, done.stdout), (OWN_FAILURE, b""))
                self.assertIn(f"{option}: the bracket at character 2 is not closed; write \\[",
                              done.stderr)

    def test_syscalls(self):
        done = self.shadowprof("syscalls", "--json")
        self.assertEqual((done.code, done.stderr), (0, ""))
        json.loads(done.stdout)
        self.assertIn(b"clock_gettime", self.shadowprof("syscalls").stdout)

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = self.run_command([SHADOWPROF, "--help"], stdout=full)
        self.assertEqual(done.code, OWN_FAILURE)


del Refused  # unittest would run it as well

if __name__ == "__main__":
    main()
