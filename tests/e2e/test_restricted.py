"""Targets that cannot be forked, or should not be, are still profiled, and unharmed."""

import contextlib
import os
import pathlib
import shutil
import subprocess

import processes
from harness import DENSE, NOBODY, SHADOWPROF, WORK_FACTORS, TestCase, dense, main, taken, victim

# On a busy machine it may be that no burst gets a processor in its time.
ATTEMPTS = 10


class Restricted(TestCase):
    """Tests each restriction as root, who may suspend filters, and as an ordinary user."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o777)
        self.program = shutil.copy(SHADOWPROF, self.folder / "shadowprof")
        self.sandboxed = shutil.copy(victim("sandboxed"), self.folder / "sandboxed")
        self.mark = self.folder / "mark"
        self.mark.write_bytes(bytes(4096))

    def users(self):
        """Returns the users to run shadowprof as."""
        return [("root", {}), ("somebody", NOBODY)] if os.geteuid() == 0 else [("somebody", {})]

    def launch(self, how, **user):
        target, tag = self.start([self.sandboxed, how, "0", str(self.mark)], stdout=subprocess.PIPE,
                                 **user)
        self.addCleanup(target.stdout.close)
        self.addCleanup(self._kill_all, target.pid, tag)
        self.assertEqual(target.stdout.read(6), b"ready\n")
        return target, tag

    def attach(self, target, *options, **user):
        """Attaches until something was seen."""
        for attempt in range(ATTEMPTS):
            duration = "500ms" if attempt == 0 else "1500ms"
            self.profile_path.unlink(missing_ok=True)
            done = self.run_command([self.program, "attach", "-q", "-o", self.profile_path,
                                     f"--duration={duration}", *dense(options),
                                     str(target.pid)], **user)
            self.assertEqual((done.code, done.stderr), (0, ""))
            profile = self.read_profile()
            if profile["sampling"]["instructions"] != 0:
                break
        return profile

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
        profile = self.attach(target, *options, **shadowprof_user)
        self.assertEqual(processes.facts(target.pid), before)
        self.end(target, tag)
        self.assertEqual(profile["sampling"]["mode"], mode)
        self.assertGreater(profile["sampling"]["instructions"], 0)
        hot = max(profile["stacks"], key=lambda stack: stack["instructions"])["frames"]
        names = [profile.locations[frame]["function"] for frame in hot]
        self.assertIn(names[-1], ("scramble", "unscramble"))
        self.assertEqual(names[-2], "main")
        live = profile["sampling"]["counters"]["live_samples"]
        if mode == "live":
            self.assertEqual((profile["overhead"]["forks"], live), (0, taken(profile)))
            self.assertEqual(any(note in each for each in profile["notes"]), True,
                             profile["notes"])
        else:
            self.assertEqual(live, 0)
        return profile

    def check_filter(self, how, modes):
        for (name, user), mode in zip(reversed(self.users()), modes):
            with self.subTest(user=name):
                self.check(how, mode, "seccomp", user, user)

    def test_a_filter_that_refuses_forks(self):
        self.check_filter("errno", ["live", "shadow"])

    def test_a_filter_that_kills_for_forks(self):
        self.check_filter("kill", ["live", "shadow"])

    def test_the_strict_mode(self):
        self.check_filter("strict", ["live", "shadow"])

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
                self.check("nproc", "live", "limit on the number of processes", user, NOBODY)

    def test_a_memory_cgroup_that_is_nearly_full(self):
        """The program uses 16 MiB, and each of up to three replicas could use as much again."""
        for limit_mib, mode in ((256, "shadow"), (24, "live")):
            with self.subTest(limit_mib=limit_mib):
                group = self.make_memory_cgroup(limit_mib << 20)
                target, tag = self.start(
                    ["sh", "-c", 'echo $$ >"$0" && exec "$@"', group / "cgroup.procs",
                     victim("checksum"), "1", "0", "16"], stdout=subprocess.PIPE)
                self.addCleanup(self._kill_all, target.pid, tag)
                processes.wait_for(lambda: len(processes.threads(target.pid)) == 2, "its threads")
                computing, = processes.other_threads(target.pid)
                processes.wait_for(lambda: processes.cpu_seconds(target.pid, computing) > 0.1,
                                   "it to compute")
                profile = self.attach(target)
                target.terminate()
                done = self.finish(target, tag)
                self.assertEqual((done.code, done.stdout[:18]), (0, b"checksum: unharmed"))
                self.assertEqual(profile["sampling"]["mode"], mode, profile["notes"])
                self.assertEqual(any("memory cgroup" in note for note in profile["notes"]),
                                 mode == "live")

    def make_memory_cgroup(self, limit_bytes):
        for top, limit in (("/sys/fs/cgroup", "memory.max"),
                           ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
            group = pathlib.Path(top, self.folder.name)
            with contextlib.suppress(OSError):
                group.mkdir()
                if (group / limit).exists():
                    (group / limit).write_text(str(limit_bytes))
                    self.addCleanup(group.rmdir)
                    return group
                group.rmdir()
        self.skipTest("no memory cgroup can be made here")


class Bursts(TestCase):
    def in_live_samples(self, *options, threads="1", rounds=300, mib="4", is_enough):
        """Returns a profile of a program that notices harm."""
        done, profile = self.profile_until(
            is_enough, lambda factor: (victim("checksum"), threads, str(rounds * factor), mib),
            options=options)
        self.assertEqual((done.code, done.stdout[:18]), (0, b"checksum: unharmed"))
        self.assertEqual(profile["sampling"]["mode"], "live")
        self.assertEqual(profile["overhead"]["forks"], 0)
        self.assertEqual(profile["sampling"]["counters"]["live_samples"], taken(profile))
        return profile

    def test_by_hand(self):
        profile = self.in_live_samples("--mode=live", is_enough=lambda profile: taken(profile) > 20)
        sampling = profile["sampling"]
        self.assertLess(sampling["instructions"], 250_000 * profile.samples)
        self.assertEqual([note for note in profile["notes"] if "live samples" in note], [])
        counters = sampling["counters"]
        self.assertLessEqual(counters["live_samples_cut_by_time"], counters["live_samples"])
        self.assertLess(0, counters["live_emulation_ns"])
        self.assertLessEqual(counters["live_translation_ns"], counters["live_emulation_ns"])
        self.assertLess(0, counters["prepared_instructions"])
        self.assertLess(0, counters["prepare_ns"])

    def test_at_times_of_the_user(self):
        profile = self.in_live_samples("--live-timing=20ms/50ms", "--max-samples=10", rounds=500,
                                 is_enough=lambda profile: profile["sampling"]["instructions"] > 0)
        self.assertEqual((profile["run"]["options"]["mode"], profile["run"]["options"]["live-timing"]),
                         ("live", "20000us/50000us"))
        self.assertGreater(profile["sampling"]["instructions"], 0)
        self.assertLessEqual(profile["sampling"]["counters"]["live_samples"], 10)

    def test_time_ends_what_goes_on_for_ever(self):
        """Each live sample would fetch page after page of sixteen MiB."""
        profile = self.in_live_samples("--live-timing=2ms/20ms", "--sample-size=1G", rounds=500, mib="16",
                                 is_enough=lambda profile: taken(profile) > 20)
        ended = profile["sampling"]["ended"]
        self.assertGreater(ended.get("time", 0), 0)
        # Samples near the start or the end of the program may end differently.
        self.assertLess(taken(profile) - ended["time"], 0.1 * taken(profile) + 1, ended)
        self.assertGreater(profile["sampling"]["counters"]["live_samples_cut_by_time"], 0)

    def test_the_option_is_for_live_samples_alone(self):
        done = self.shadowprof("run", "--mode=shadow", "--live-timing=2ms/1s", victim("checksum"))
        self.assertEqual(done.code, 125)
        self.assertIn("--live-timing", done.stderr)

    def test_edges_are_those_of_the_program(self):
        """Many samples end by time: a part of a trace must be right, or left out."""
        done, profile = self.profile_until(
            lambda profile: sum(profile.edge_counts().values()) > 1000,
            lambda factor: (victim("edges"), str(20_000_000 * factor)),
            options=["--live-timing=20ms/50ms"], module=victim("edges"))
        self.assertEqual(done.code, 0)
        self.assertGreater(sum(profile.edge_counts().values()), 1000)

    def test_effects_happen_once(self):
        def command(factor):
            world = self.folder / f"world-{factor}"
            world.mkdir()
            return victim("effects"), world, str(15000 * factor)

        done, profile = self.profile_until(
            lambda profile: profile["sampling"]["instructions"] > 0, command,
            options=["--live-timing=20ms/50ms"])
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
        for seconds in WORK_FACTORS:
            self.shadowprof("attach", "-q", "-o", self.profile_path, "--mode=shadow",
                            f"--duration={seconds}s", target.pid)
            profile = self.read_profile()
            if any("were not taken" in note for note in profile["notes"]):
                break
        target.terminate()
        done = self.finish(target, tag)
        self.assertEqual((done.code, done.stdout), (0, b"unharmed\n"))
        self.assertEqual((profile["sampling"]["mode"], profile["sampling"]["instructions"]),
                         ("shadow", 0))
        self.assertTrue(any("were not taken" in note for note in profile["notes"]))


if __name__ == "__main__":
    main()
