"""Targets that cannot be forked, or had better not be, are profiled all the same, and unharmed."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import unittest

import processes
from harness import DENSE, SHADOWPROF, TestCase, dense, victim

# On a busy machine no burst may get a processor within its time.
ATTEMPTS = 10

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


class Restricted(TestCase):
    """Each restriction as root, who may suspend filters, and as an ordinary user."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o777)
        self.program = shutil.copy(SHADOWPROF, self.folder / "shadowprof")
        self.sandboxed = shutil.copy(victim("sandboxed"), self.folder / "sandboxed")
        self.mark = self.folder / "mark"
        self.mark.write_bytes(bytes(4096))

    def users(self):
        """What to run shadowprof as, where there is a choice."""
        return [("root", {}), ("somebody", NOBODY)] if os.geteuid() == 0 else [("somebody", {})]

    def launch(self, how, **user):
        target, tag = self.start([self.sandboxed, how, "0", str(self.mark)], stdout=subprocess.PIPE,
                                 **user)
        self.addCleanup(target.stdout.close)
        self.addCleanup(self._kill_all, target.pid, tag)
        self.assertEqual(target.stdout.read(6), b"ready\n")
        return target, tag

    def attach(self, target, *options, **user):
        self.profile_path.unlink(missing_ok=True)
        done = self.run_command([self.program, "attach", "-q", "-o", self.profile_path,
                                 "--duration=1500ms", *dense(options),
                                 str(target.pid)], **user)
        self.assertEqual((done.code, done.stderr), (0, ""))
        return self.read_profile()

    def end(self, target, tag):
        if processes.status_of(target.pid)["Seccomp"] == "1":
            with open(self.mark, "r+b") as mark:
                mark.write(b"x")
        else:
            target.terminate()
        done = self.finish(target, tag)
        self.assertEqual((done.code, done.stdout), (0, b"unharmed\n"))
        self.mark.write_bytes(bytes(4096))

    def check(self, how, mode, note, shadowprof_user, target_user, options=()):
        target, tag = self.launch(how, **target_user)
        before = processes.settled_facts(target.pid)
        for _ in range(ATTEMPTS):
            profile = self.attach(target, *options, **shadowprof_user)
            if profile["sampling"]["instructions"] != 0:
                break
        self.assertEqual(processes.facts(target.pid), before)
        self.end(target, tag)
        self.assertEqual(profile["sampling"]["mode"], mode)
        self.assertGreater(profile["sampling"]["instructions"], 0)
        hot = max(profile["stacks"], key=lambda stack: stack["instructions"])["frames"]
        names = [profile.locations[frame]["function"] for frame in hot]
        self.assertIn(names[-1], ("scramble", "unscramble"))
        self.assertEqual(names[-2], "main")
        bursts = profile["sampling"]["counters"]["bursts"]
        if mode == "burst":
            self.assertEqual((profile["overhead"]["forks"], bursts), (0, profile.samples))
            self.assertEqual(any(note in each for each in profile["notes"]), True,
                             profile["notes"])
        else:
            self.assertEqual(bursts, 0)
        return profile

    def check_filter(self, how, modes):
        for (name, user), mode in zip(reversed(self.users()), modes):
            with self.subTest(user=name):
                self.check(how, mode, "seccomp", user, user)

    def test_a_filter_that_refuses_forks(self):
        self.check_filter("errno", ["burst", "shadow"])

    def test_a_filter_that_kills_for_forks(self):
        self.check_filter("kill", ["burst", "shadow"])

    def test_the_strict_mode(self):
        self.check_filter("strict", ["burst", "shadow"])

    def test_a_thread_without_a_filter_is_forked(self):
        self.check_filter("others", ["shadow", "shadow"])

    def test_a_program_that_restricts_itself_while_it_runs(self):
        done = self.run_command([self.program, "run", "-q", DENSE, "-o", self.profile_path,
                                 self.sandboxed, "kill", "20000"], **self.users()[-1][1])
        self.assertEqual((done.code, done.stdout), (0, b"ready\nunharmed\n"), done.stderr)

    def test_the_limit_on_processes(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become a user who has no processes")
        for name, user in self.users():
            with self.subTest(user=name):
                self.check("nproc", "burst", "limit on the number of processes", user, NOBODY)

    def test_a_memory_cgroup_that_is_nearly_full(self):
        for limit_mib, mode in ((64, "shadow"), (24, "burst")):
            with self.subTest(limit_mib=limit_mib):
                group = self.make_memory_cgroup(limit_mib << 20)
                target, tag = self.start(
                    ["sh", "-c", 'echo $$ >"$0" && exec "$@"', group / "cgroup.procs",
                     victim("checksum"), "1", "0", "16"], stdout=subprocess.PIPE)
                self.addCleanup(self._kill_all, target.pid, tag)
                processes.wait_for(lambda: len(processes.threads(target.pid)) == 2, "its threads")
                processes.settled_facts(target.pid)
                profile = self.attach(target)
                target.terminate()
                done = self.finish(target, tag)
                self.assertEqual((done.code, done.stdout[:18]), (0, b"checksum: unharmed"))
                group.rmdir()
                self.assertEqual(profile["sampling"]["mode"], mode, profile["notes"])
                self.assertEqual(any("memory cgroup" in note for note in profile["notes"]),
                                 mode == "burst")

    def make_memory_cgroup(self, limit_bytes):
        for top, limit in (("/sys/fs/cgroup", "memory.max"),
                           ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
            group = pathlib.Path(top, self.folder.name)
            with contextlib.suppress(OSError):
                group.mkdir()
                if (group / limit).exists():
                    (group / limit).write_text(str(limit_bytes))
                    return group
                group.rmdir()
        self.skipTest("no memory cgroup can be made here")


class Bursts(TestCase):
    def test_by_hand(self):
        done, profile = self.profile(victim("checksum"), "1", "300", options=["--mode=burst"])
        self.assertEqual((done.code, done.stdout[:18]), (0, b"checksum: unharmed"))
        sampling = profile["sampling"]
        self.assertEqual(sampling["mode"], "burst")
        self.assertEqual(profile["overhead"]["forks"], 0)
        self.assertEqual(sampling["counters"]["bursts"] + sampling["ended"].get("idle", 0),
                         profile.samples)
        self.assertLess(sampling["instructions"], 250_000 * profile.samples)
        self.assertEqual([note for note in profile["notes"] if "bursts" in note], [])
        counters = sampling["counters"]
        self.assertLessEqual(counters["bursts_cut_by_time"], counters["bursts"])
        self.assertLess(0, counters["burst_emulation_ns"])
        self.assertLessEqual(counters["burst_translation_ns"], counters["burst_emulation_ns"])
        self.assertLess(0, counters["prepared_instructions"])
        self.assertLess(0, counters["prepare_ns"])

    def test_at_times_of_the_user(self):
        done, profile = self.profile(victim("checksum"), "1", "500",
                                     options=["--burst=20ms/50ms", "--max-samples=10"])
        self.assertEqual((done.code, done.stdout[:18]), (0, b"checksum: unharmed"))
        self.assertEqual(profile["sampling"]["mode"], "burst")
        self.assertEqual((profile["run"]["options"]["mode"], profile["run"]["options"]["burst"]),
                         ("burst", "20000us/50000us"))
        self.assertEqual(profile["overhead"]["forks"], 0)
        self.assertGreater(profile["sampling"]["instructions"], 0)
        self.assertLessEqual(profile["sampling"]["counters"]["bursts"], 10)

    def test_time_ends_what_goes_on_for_ever(self):
        """Each burst would fetch page after page of sixteen MiB."""
        done, profile = self.profile(victim("checksum"), "1", "500", "16",
                                     options=["--burst=200us/2ms", "--sample-size=1G"])
        self.assertEqual((done.code, done.stdout[:18]), (0, b"checksum: unharmed"))
        ended = profile["sampling"]["ended"]
        self.assertGreater(ended.get("time", 0), 0)
        self.assertLessEqual(set(ended), {"time", "idle"})
        counters = profile["sampling"]["counters"]
        self.assertGreater(counters["bursts_cut_by_time"], 0)
        self.assertEqual(counters["bursts"], ended["time"])

    def test_the_option_is_for_bursts_alone(self):
        done = self.shadowprof("run", "--mode=shadow", "--burst=2ms/1s", victim("checksum"))
        self.assertEqual(done.code, 125)
        self.assertIn("--burst", done.stderr)

    def test_edges_are_those_of_the_program(self):
        """Also where many samples end by time: a part of the trace is right, or nothing."""
        done, profile = self.profile(victim("edges"), "20000000", options=["--burst=20ms/50ms"],
                                     module=victim("edges"))
        self.assertEqual(done.code, 0)
        self.assertGreater(sum(profile.edge_counts().values()), 1000)

    def test_effects_happen_once(self):
        world = self.folder / "world"
        world.mkdir()
        done, profile = self.profile(victim("effects"), world, "15000",
                                     options=["--burst=20ms/50ms"])
        self.assertEqual((done.code, done.stderr), (0, ""), done.stdout)
        self.assertIn(b"each once", done.stdout)
        self.assertGreater(profile["sampling"]["instructions"], 0)

    def test_shadows_or_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become a user who has no processes")
        self.folder.chmod(0o777)
        sandboxed = shutil.copy(victim("sandboxed"), self.folder / "sandboxed")
        target, tag = self.start([sandboxed, "nproc", "0"], stdout=subprocess.PIPE, **NOBODY)
        self.addCleanup(self._kill_all, target.pid, tag)
        self.addCleanup(target.stdout.close)
        self.assertEqual(target.stdout.read(6), b"ready\n")
        self.shadowprof("attach", "-q", "-o", self.profile_path, "--mode=shadow",
                        "--duration=500ms", target.pid)
        target.terminate()
        done = self.finish(target, tag)
        self.assertEqual((done.code, done.stdout), (0, b"unharmed\n"))
        profile = self.read_profile()
        self.assertEqual((profile["sampling"]["mode"], profile["sampling"]["instructions"]),
                         ("shadow", 0))
        self.assertTrue(any("were not taken" in note for note in profile["notes"]))


if __name__ == "__main__":
    unittest.main()
