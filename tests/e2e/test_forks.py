"""Programs of many processes: all are profiled, and none notices it."""

import contextlib
import os
import pty
import select
import shutil
import signal
import subprocess
import time

import bounds
import processes
from harness import (HANG_SECONDS, SHADOWPROF, WORK_FACTORS, TestCase, dense, main,
                     tagged_processes, victim)

FAMILY = victim("family")


class ForksCase(TestCase):
    def rows(self, profile, *command):
        """Returns the rows of the processes whose command ends with these words."""
        words = list(command)
        return [row for row in profile["processes"]
                if row["command"][max(0, len(row["command"]) - len(words)):] == words]

    def functions(self, profile):
        return {location["function"] for location in profile.locations}

    def assert_rows_agree(self, profile):
        """Checks what holds for the processes of every profile."""
        rows, others = profile["processes"], profile["other_processes"]
        # Weighted counts are rounded.
        self.assertAlmostEqual(sum(row["instructions"] for row in rows) + others["instructions"],
                               profile["sampling"]["instructions"], delta=len(rows) + 1)
        # A sample that was due when nothing ran is counted as idle and belongs to no process.
        begun = sum(row["samples"] for row in rows) + others["samples"]
        idle = profile["sampling"]["ended"].get("idle", 0)
        self.assertLessEqual(begun, profile.samples)
        self.assertGreaterEqual(begun, profile.samples - idle)
        amounts = [row["instructions"] for row in rows]
        self.assertEqual(amounts, sorted(amounts, reverse=True))
        first, = [row for row in rows if row["pid"] == profile["run"]["pid"]] or [None]
        if first:
            self.assertIsNone(first["parent"])
            self.assertEqual(first["exit"], profile["run"]["exit"])
        for row in rows:
            self.assertLessEqual(row["started_seconds"] + row["seconds"],
                                 profile["run"]["seconds"] + 1e-6)

    def same_as_alone(self, *command, **more):
        """Runs a command alone and profiled, and checks that outputs and exit status are the
        same. Returns the profile."""
        plain = self.run_command(list(command))
        done, profile = self.profile(*command, **more)
        self.assertEqual((done.code, done.stdout, done.stderr),
                         (plain.code, plain.stdout, plain.stderr))
        self.assert_rows_agree(profile)
        return profile


class Followed(ForksCase):
    def test_a_script_with_programs_in_every_position(self):
        """Programs are started by fork and exec, in the background, in a pipeline, and by exec
        alone."""
        for factor in WORK_FACTORS:
            units = [str(amount * factor) for amount in (40, 41, 42)]
            script = (f"'{FAMILY}' work {units[0]}; echo $?; '{FAMILY}' work {units[1]} & "
                      f"echo one two | tr a-z A-Z | cat; wait; exec '{FAMILY}' work {units[2]}")
            profile = self.same_as_alone("sh", "-c", script, module=FAMILY)
            rows = [self.rows(profile, FAMILY, "work", amount) for amount in units]
            self.assertEqual([len(found) for found in rows], [1, 1, 1])
            if all(row["samples"] > 0 for row, in rows):
                break
        self.assertEqual(profile["run"]["exit"], {"status": 3})
        for row, in rows:
            self.assertEqual(row["exit"], {"status": 3})
            self.assertGreater(row["samples"], 0, row)
        self.assertEqual(rows[-1][0]["pid"], profile["run"]["pid"])
        self.assertEqual(len(self.rows(profile, "cat")), 1)
        self.assertEqual(len(self.rows(profile, "tr", "a-z", "A-Z")), 1)
        for row in self.rows(profile, "cat"):
            self.assertEqual((row["parent"], row["exit"]), (profile["run"]["pid"], {"status": 0}))
        self.assertIn("family_work_a", self.functions(profile))

    def test_make_with_two_jobs(self):
        make = shutil.which("make")
        if make is None:
            self.skipTest("make is not installed")
        lines = ["all: a b c d"] + [f"{name}:\n\t@'{FAMILY}' work 4{i} || test $$? = 3; echo {name}"
                                    for i, name in enumerate("abcd")]
        (self.folder / "Makefile").write_text("\n".join(lines) + "\n")
        done, profile = self.profile(make, "-s", "-j2")
        self.assertEqual((done.code, sorted(done.stdout.split()), done.stderr),
                         (0, [b"a", b"b", b"c", b"d"], ""))
        self.assert_rows_agree(profile)
        for i in range(4):
            self.assertEqual(len(self.rows(profile, FAMILY, "work", f"4{i}")), 1)
        waiting, = self.rows(profile, make, "-s", "-j2")
        self.assertLess(waiting["instructions"], profile["sampling"]["instructions"] / 4)

    def test_what_posix_spawn_starts(self):
        profile = self.same_as_alone(FAMILY, "spawn", "20")
        self.assertEqual(len(self.rows(profile, FAMILY, "work", "3")), 20)

    def test_a_child_that_is_killed(self):
        profile = self.same_as_alone(FAMILY, "killed")
        self.assertIn({"signal": signal.SIGTERM}, [row["exit"] for row in profile["processes"]])

    def test_a_child_finds_no_child_that_is_not_its_own(self):
        for factor in WORK_FACTORS:
            profile = self.same_as_alone(FAMILY, "alone", str(60 * factor))
            most = max(row["samples"] for row in profile["processes"])
            if most >= 5:
                break
        self.assertGreaterEqual(most, 5)

    def test_stops_and_continues_of_a_child_are_seen_as_alone(self):
        self.same_as_alone(FAMILY, "stopped")

    def test_hundreds_of_children_that_end_at_once(self):
        children = 500
        profile = self.same_as_alone(FAMILY, "brief", str(children))
        self.assertEqual(len(profile["processes"]) + profile["other_processes"]["count"],
                         children + 1)
        self.assertEqual(len(profile["processes"]), 256)

    def test_programs_that_fork_behave_as_ever(self):
        done, profile = self.profile(victim("children"))
        self.assertEqual((done.code, done.stdout), (0, b"children: 80 rounds, 320 children\n"))
        self.assert_rows_agree(profile)

    def test_samples_are_shared_out_by_the_time_that_processes_run(self):
        """One of two children does twice the work. They may run at once or in turn."""
        def children(profile):
            rows = {row["exit"].get("status"): row for row in profile["processes"]}
            return rows[11], rows[12]

        def is_enough(profile):
            return sum(row["samples"] for row in children(profile)) > 2000

        done, profile = self.profile_until(
            is_enough, lambda factor: (FAMILY, "shares", str(400 * factor), str(200 * factor)),
            module=FAMILY, options=("--load=2", "--sample-size=50k"))
        self.assertEqual((done.code, done.stdout), (0, b"family: shared\n"))
        self.assert_rows_agree(profile)
        one, other = children(profile)
        # If the two share a processor, only one runs at a time, but the time between two samples
        # may be counted for both. So their shares are those of their work, or of the time that they
        # wanted to run, or lie in between.
        by_work, by_time = 2 / 3, one["seconds"] / (one["seconds"] + other["seconds"])
        samples = one["samples"] + other["samples"]
        self.assertGreater(samples, 2000)
        share = one["instructions"] / (one["instructions"] + other["instructions"])
        # Samples of different weight tell as much as so many of equal weight.
        weights = profile["timeline"]["samples"]["counted"]
        equal = (profile["timeline"]["stride"] *
                 sum(weights) ** 2 / sum(weight * weight for weight in weights))
        allowed = bounds.binomial(equal, by_work) / equal
        self.assertGreater(share, min(by_work, by_time) - allowed)
        self.assertLess(share, max(by_work, by_time) + allowed)
        parent, = (row for row in profile["processes"] if row["parent"] is None)
        self.assertLess(parent["instructions"], profile["sampling"]["instructions"] / 20)
        # The rows agree with the functions.
        inside = {}
        for stack in profile["stacks"]:
            name = profile.locations[stack["frames"][-1]].get("function")
            inside[name] = inside.get(name, 0) + stack["instructions"]
        for name, row in (("family_work_a", one), ("family_work_b", other)):
            self.assertAlmostEqual(inside.get(name, 0), row["instructions"],
                                   delta=0.1 * row["instructions"])

    def test_code_without_a_file_is_told_apart_by_process(self):
        def children(profile):
            return [row for row in profile["processes"] if row["parent"] is not None]

        def is_enough(profile):
            for row in children(profile):
                self.addCleanup(os.unlink, f"/tmp/perf-{row['pid']}.map")
            return min(row["samples"] for row in children(profile)) > 50

        done, profile = self.profile_until(
            is_enough, lambda factor: (FAMILY, "jit", str(200 * factor)), options=("--load=1",))
        self.assertEqual((done.code, done.stdout), (0, b"family: made up\n"))
        self.assertEqual(len(children(profile)), 2)
        counted = {}
        for stack in profile["stacks"]:
            place = profile.locations[stack["frames"][-1]]
            where = profile["modules"][place["module"]]["path"], place["function"]
            counted[where] = counted.get(where, 0) + stack["instructions"]
        for row in children(profile):
            self.assertGreater(row["samples"], 50)
            where = f"[anon {row['pid']}]", f"made_up_by_{row['pid']}"
            self.assertGreater(counted[where], 0.9 * row["instructions"])

    def test_descriptors_and_threads_of_shadowprof_do_not_grow(self):
        script = f"'{FAMILY}' brief 50; echo; read line; '{FAMILY}' brief 400; echo; read line"
        process, tag = self.start([SHADOWPROF, "run", "-q", "-o", self.profile_path, "--", "sh",
                                   "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        held = []

        def held_by(tracer):
            return len(processes.descriptors(tracer)), len(processes.threads(tracer))

        for _ in range(2):
            while process.stdout.readline() != b"\n":
                pass
            tracer, = processes.children(process.pid)
            # Nothing runs now: descriptors and threads of samples under way have been given back.
            held.append(processes.settled(lambda: held_by(tracer)))
            process.stdin.write(b"\n")
            process.stdin.flush()
        process.stdin.close()
        done = self.finish(process, tag)
        self.assertEqual(done.code, 0)
        before, after = held
        # A runner, with its descriptors, may be added when it is first needed.
        self.assertLessEqual(after[0] - before[0], 16)
        self.assertLessEqual(after[1] - before[1], 2)


class Privileges(ForksCase):
    def test_a_program_that_loses_its_privileges_is_named(self):
        """The privileges are lost because shadowprof runs as an ordinary user."""
        if os.geteuid() != 0:
            self.skipTest("needs root to make a set-user-ID program of another user")
        self.folder.chmod(0o777)
        profiler = shutil.copy(SHADOWPROF, self.folder / "shadowprof")
        program = self.folder / "as-root"
        shutil.copy(FAMILY, program)
        program.chmod(0o4755)
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        script = f"'{program}' work 1; '{program}' work 1; true"
        done = self.run_command([profiler, "run", "-q", "-o", self.profile_path, "sh", "-c",
                                 script], **user)
        self.assertEqual((done.code, done.stderr), (0, ""))
        notes = [note for note in self.read_profile()["notes"] if "without its privileges" in note]
        self.assertEqual(len(notes), 1)
        self.assertTrue(notes[0].startswith(f"{program} was executed 2 times"), notes)


class Outliving(ForksCase):
    def test_a_daemon_does_not_hold_up_the_end_and_goes_on_unharmed(self):
        process, tag = self.start([SHADOWPROF, "run", "-q", "-o", self.profile_path, "--", FAMILY,
                                   "daemon"], stdout=subprocess.PIPE)
        self.addCleanup(self._kill_all, process.pid, tag)
        # The daemon goes on until it is told to end: a run that waited for it would hang.
        self.assertEqual(process.wait(HANG_SECONDS), 5)
        daemon, = tagged_processes(tag)
        self.assertEqual(processes.tracer(daemon), 0)
        self.assertEqual(processes.children(daemon), [])
        profile = self.read_profile()
        self.assertTrue(any("still running when it ended" in note for note in profile["notes"]),
                        profile["notes"])
        self.assert_rows_agree(profile)
        self.assertEqual([row["pid"] for row in profile["processes"] if row["exit"] == {}],
                         [daemon])
        os.kill(daemon, signal.SIGTERM)
        processes.wait_for((self.folder / "daemon").exists, "the end of the daemon")
        self.assertEqual((self.folder / "daemon").read_text(), "unharmed\n")
        process.stdout.close()
        self.assert_nothing_left(process.pid, tag)

    def test_killed_while_it_follows(self):
        """When shadowprof is killed, the processes that it followed go on untraced."""
        script = f"'{FAMILY}' work 2000 & '{FAMILY}' work 2000; wait; echo unharmed"
        process, tag = self.start([SHADOWPROF, "run", "-q", "--load=4", "-o", self.profile_path,
                                   "--", "sh", "-c", script], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)

        def of_family():
            found = []
            for pid in tagged_processes(tag):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(FAMILY) and \
                            processes.threads(pid) == [pid] and processes.state(pid) != "t":
                        found.append(pid)
            return found
        processes.wait_for(lambda: len(of_family()) >= 2, "the two children")
        time.sleep(0.2)
        process.kill()
        process.wait()
        processes.wait_for(
            lambda: len(of_family()) == 2 and not any(map(processes.tracer, of_family())),
            "the children to be let go")
        for pid in of_family():
            os.kill(pid, signal.SIGTERM)
        for _ in range(600):
            if not tagged_processes(tag):
                break
            time.sleep(0.1)
        self.assert_nothing_left(process.pid, tag)


class JobControl(ForksCase):
    def test_the_group_is_stopped_and_continued_like_by_a_terminal(self):
        script = (f"'{FAMILY}' until end begun-1 | cat & '{FAMILY}' until end begun-2; wait; "
                  "echo done")
        process, tag = self.start([SHADOWPROF, "run", "-q", "-o", self.profile_path, "--", "sh",
                                   "-c", script], stdout=subprocess.PIPE)
        self.addCleanup(self._kill_all, process.pid, tag)
        for i in (1, 2):
            processes.wait_for((self.folder / f"begun-{i}").exists, "the programs")

        def work_seconds():
            """Returns the processor time of the working processes, without replicas."""
            found = []
            for pid in tagged_processes(tag):
                with contextlib.suppress(OSError):
                    if processes.command(pid) == "family":
                        found.append(processes.cpu_seconds(pid))
            return sum(found)

        for _ in range(2):
            # A session's leader is in an orphaned group, which only SIGSTOP stops.
            os.killpg(process.pid, signal.SIGSTOP)
            processes.wait_for(lambda: processes.state(process.pid) == "T", "the stop")
            processes.settled(work_seconds)
            before = work_seconds()
            os.killpg(process.pid, signal.SIGCONT)
            processes.wait_for(lambda: work_seconds() > before, "them to go on")
        (self.folder / "end").touch()
        done = self.finish(process, tag)
        self.assertEqual((done.code, done.stdout), (0, b"done\n"))
        self.assert_rows_agree(self.read_profile())

    def test_a_shell_stops_and_continues_its_jobs(self):
        """Uses an interactive shell's job control, without a terminal."""
        script = (f"rm -f begun end; set -m; '{FAMILY}' until end begun & "
                  "while ! [ -e begun ]; do sleep 0.01; done; kill -TSTP %1; wait %1; echo $?; "
                  "jobs; touch end; fg %1 >/dev/null; echo $?")
        bash = shutil.which("bash")
        if bash is None:
            self.skipTest("bash is not installed")
        plain = self.run_command([bash, "-c", script])
        done, profile = self.profile(bash, "-c", script)
        self.assertEqual((done.code, done.stdout), (plain.code, plain.stdout))
        self.assertIn(b"Stopped", plain.stdout)
        self.assert_rows_agree(profile)

    def converse(self, command, lines):
        """Types lines on a terminal, each after the given text has appeared. Returns the exit
        status."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvp(command[0], command)
        seen = b""
        deadline = time.monotonic() + HANG_SECONDS
        for expected, line in lines:
            while expected not in seen:
                self.assertLess(time.monotonic(), deadline, f"no {expected}: {seen}")
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 4096)
            seen = seen.partition(expected)[2]
            os.write(terminal, line)
        with contextlib.suppress(OSError):  # when nobody has the terminal open any more
            while time.monotonic() < deadline:
                if select.select([terminal], [], [], 1)[0]:
                    os.read(terminal, 4096)
        os.close(terminal)  # hangs up on a process that still waits for a line
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_ctrl_z_and_fg_on_a_terminal(self):
        bash = shutil.which("bash")
        if bash is None:
            self.skipTest("bash is not installed")
        shell = [bash, "--norc", "--noprofile", "-i"]
        prompt = b"$ " if os.geteuid() else b"# "
        lines = [(prompt, f"'{FAMILY}' stopped; cat\n".encode()),
                 (b"family: stopped", b"first\n"), (b"first\r\nfirst", b"\x1a"),
                 (b"Stopped", b"fg\n"), (b"fg", b""),
                 (b"cat\r\n", b"second\n"), (b"second\r\nsecond", b"\x03"),
                 (b"^C", b""), (prompt, b"exit $?\n")]
        plain = self.converse(shell, lines)
        done = self.converse([SHADOWPROF, "run", "-q", "--no-progress", "-o",
                              str(self.profile_path), "--", *shell], lines)
        self.assertEqual(done, plain)
        self.assert_rows_agree(self.read_profile())


class LetGo(ForksCase):
    def test_children_are_not_touched_when_they_are_not_followed(self):
        done, profile = self.profile(FAMILY, "untraced", options=("--follow-forks=no",),
                                     module=FAMILY)
        self.assertEqual((done.code, done.stdout), (0, b"family: untraced\n"))
        self.assertEqual(len(profile["processes"]), 1)
        self.assertNotIn("family_work_a", self.functions(profile))
        self.assertEqual(profile["run"]["options"]["follow-forks"], "no")

    def test_they_are_when_they_are_followed(self):
        done, profile = self.profile(FAMILY, "untraced", module=FAMILY)
        self.assertEqual((done.code, done.stdout), (0, b"family: traced\n"))
        self.assertIn("family_work_a", self.functions(profile))


class Attached(ForksCase):
    def attach(self, *options, is_enough=lambda profile: True):
        """Attaches to a shell that keeps starting programs, for longer and longer until the
        profile is enough. Returns the shell's id and the profile."""
        script = f"while :; do '{FAMILY}' work 3; done"
        shell, tag = self.start(["sh", "-c", script])
        self.addCleanup(self._kill_all, shell.pid, tag)
        for seconds in WORK_FACTORS:
            done = self.shadowprof("attach", "-q", "-o", self.profile_path,
                                   f"--duration={2 * seconds}s", *dense(options), str(shell.pid))
            self.assertEqual((done.code, done.stderr), (0, ""))
            profile = self.read_profile()
            for pid in tagged_processes(tag):
                with contextlib.suppress(OSError):
                    self.assertEqual(processes.tracer(pid), 0)
            if is_enough(profile):
                break
        shell.kill()
        shell.wait()
        return shell.pid, profile

    def test_children_are_followed_when_asked_for(self):
        def rows_of(profile):
            return self.rows(profile, FAMILY, "work", "3")

        def samples_of(profile):
            return sum(row["samples"] for row in rows_of(profile))

        shell, profile = self.attach(
            "--follow-forks=yes",
            is_enough=lambda profile: len(rows_of(profile)) > 2 and samples_of(profile) > 0)
        self.assertGreater(len(rows_of(profile)), 2)
        self.assertTrue(all(row["parent"] == shell for row in rows_of(profile)))
        self.assertGreater(samples_of(profile), 0)

    def test_not_otherwise(self):
        _, profile = self.attach()
        self.assertEqual(len(profile["processes"]), 1)


class Reports(ForksCase):
    def test_the_report_lists_the_processes(self):
        self.profile("sh", "-c", f"'{FAMILY}' work 30; '{FAMILY}' work 31; true")
        shown = self.shadowprof("report", self.profile_path)
        self.assertEqual(shown.code, 0)
        text = shown.stdout.decode()
        self.assertIn("Processes, by instructions", text)
        self.assertIn("work 30", text)
        self.assertLessEqual(len(text.splitlines()), 50)


if __name__ == "__main__":
    main()
