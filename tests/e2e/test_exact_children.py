"""Exact mode follows the processes that a program starts: each is counted to the instruction, and
none notices it."""

import contextlib
import os
import signal
import subprocess
import sys

import processes
import test_forks
from harness import HANG_SECONDS, SHADOWPROF, main, tagged_processes, victim

FAMILY = victim("family")
EXACT = ("--mode=exact", "--follow-forks=yes")


class ExactCase(test_forks.ForksCase):
    def covered(self, *command, **more):
        """Runs a command alone and profiled, and checks that both do the same and that all of its
        processes were followed to their ends. Returns the profile."""
        profile = self.same_as_alone(*command, options=EXACT, **more)
        exact = profile["sampling"]["exact"]
        self.assertIsNone(exact["stopped_early"], profile["notes"])
        self.assertEqual(exact["diverged"], 0, profile["notes"])
        self.assertTrue(all(row["exit"] for row in profile["processes"]), profile["processes"])
        self.assertEqual(sum(row["instructions"] for row in profile["processes"]) +
                         profile["other_processes"]["instructions"],
                         profile["sampling"]["instructions"])
        return profile

    def amounts(self, profile):
        """The instructions of each process, by its command, without regard to the order."""
        return sorted((row["command"], row["instructions"]) for row in profile["processes"])


class Followed(ExactCase):
    def test_a_script_with_programs_in_every_position(self):
        script = (f"'{FAMILY}' work 1; echo $?; '{FAMILY}' work 2 & wait; "
                  f"echo one two | tr a-z A-Z | cat; exec '{FAMILY}' work 3")
        profile = self.covered("sh", "-c", script, module=FAMILY)
        self.assertEqual(profile["run"]["exit"], {"status": 3})
        works = [self.rows(profile, FAMILY, "work", str(amount)) for amount in (1, 2, 3)]
        self.assertEqual([len(found) for found in works], [1, 1, 1])
        one, two = works[0][0]["instructions"], works[1][0]["instructions"]
        per_unit = two - one
        self.assertGreater(per_unit, 1_000_000)
        self.assertGreater(works[2][0]["instructions"], 3 * per_unit)
        self.assertEqual(works[2][0]["pid"], profile["run"]["pid"])
        for words in (("cat",), ("tr", "a-z", "A-Z")):
            row, = self.rows(profile, *words)
            self.assertEqual((row["parent"], row["exit"]), (profile["run"]["pid"], {"status": 0}))
        self.assertIn("family_work_a", self.functions(profile))

    def test_counts_repeat_where_the_parent_waits(self):
        script = f"for i in 1 2 3; do '{FAMILY}' work 1; done; /bin/echo $(/bin/echo two)"
        first, second = (self.amounts(self.covered("sh", "-c", script)) for _ in range(2))
        self.assertEqual(first, second)

    def test_what_posix_spawn_starts(self):
        profile = self.covered(FAMILY, "spawn", "5")
        rows = self.rows(profile, FAMILY, "work", "3")
        self.assertEqual(len(rows), 5)
        self.assertEqual(len({row["instructions"] for row in rows}), 1)

    def test_what_a_child_of_vfork_writes_is_seen_by_its_parent(self):
        """The C library's posix_spawn() has the child leave its error in the parent's memory."""
        script = ("import os\n"
                  "try: os.posix_spawn('/nonexistent', ['x'], {})\n"
                  "except FileNotFoundError: print('not found')\n"
                  "pid = os.posix_spawn('/bin/true', ['true'], {})\n"
                  "print(os.waitpid(pid, 0)[1])\n")
        self.covered(sys.executable, "-S", "-E", "-c", script)

    def test_a_thread_that_starts_programs_while_another_works(self):
        script = ("import subprocess, threading\n"
                  "def start():\n"
                  "  for _ in range(3): subprocess.run(['/bin/true'], check=True)\n"
                  "threads = [threading.Thread(target=start) for _ in range(2)]\n"
                  "for t in threads: t.start()\n"
                  "print(sum(range(100000)))\n"
                  "for t in threads: t.join()\n")
        profile = self.covered(sys.executable, "-S", "-E", "-c", script)
        self.assertEqual(len(self.rows(profile, "/bin/true")), 6)
        self.assertEqual({row["pid"] for row in profile["threads"]}, {profile["run"]["pid"]})

    def test_threads_that_execute_programs_while_the_first_one_sleeps(self):
        """Such processes are let go. The emulator's process that has followed one follows the next
        one as well."""
        alone = self.run_command([FAMILY, "succeeds", "4"])
        done, profile = self.profile(FAMILY, "succeeds", "4", options=EXACT)
        self.assertEqual((done.code, done.stdout), (0, alone.stdout), done.stderr)
        self.assert_rows_agree(profile)

    def test_a_child_that_is_killed(self):
        profile = self.covered(FAMILY, "killed")
        self.assertIn({"signal": signal.SIGTERM}, [row["exit"] for row in profile["processes"]])

    def test_stops_and_continues_of_a_child_are_seen_as_alone(self):
        self.covered(FAMILY, "stopped")

    def test_many_children_that_end_at_once(self):
        profile = self.covered(FAMILY, "brief", "100")
        self.assertEqual(len(profile["processes"]), 101)

    def test_more_children_at_once_than_emulators(self):
        """Those beyond the limit run natively, and the profile says so."""
        script = "for i in $(seq 80); do sleep 1 & done; wait; echo all"
        done, profile = self.profile("sh", "-c", script, options=EXACT)
        self.assertEqual((done.code, done.stdout), (0, b"all\n"))
        self.assert_rows_agree(profile)
        self.assertEqual(len(profile["processes"]), 82)
        notes = [note for note in profile["notes"] if "processes at once" in note]
        self.assertTrue(notes, profile["notes"])
        self.assertIn("processes at once", profile["sampling"]["exact"]["stopped_early"])

    def test_programs_that_fork_behave_as_ever(self):
        done, profile = self.profile(victim("children"), options=EXACT)
        self.assertEqual((done.code, done.stdout), (0, b"children: 80 rounds, 320 children\n"))
        self.assert_rows_agree(profile)

    def test_pipes_that_are_full_and_empty(self):
        script = "head -c 2000000 /dev/zero | tr '\\0' x | cat | wc -c; yes | head -3"
        self.covered("sh", "-c", script)

    def test_code_without_a_file_is_told_apart_by_process(self):
        done, profile = self.profile(FAMILY, "jit", "2", options=EXACT)
        self.assertEqual((done.code, done.stdout), (0, b"family: made up\n"))
        children = [row for row in profile["processes"] if row["parent"] is not None]
        self.assertEqual(len(children), 2)
        counted = {}
        for stack in profile["stacks"]:
            place = profile.locations[stack["frames"][-1]]
            path = profile["modules"][place["module"]]["path"]
            counted[path] = counted.get(path, 0) + stack["instructions"]
        for row in children:
            self.addCleanup(os.unlink, f"/tmp/perf-{row['pid']}.map")
            self.assertGreater(counted[f"[anon {row['pid']}]"], 0.9 * row["instructions"])

    def test_they_are_left_alone_when_they_are_not_followed(self):
        done, profile = self.profile(FAMILY, "untraced", options=("--mode=exact",))
        self.assertEqual((done.code, done.stdout), (0, b"family: untraced\n"))
        self.assertEqual(len(profile["processes"]), 1)


class Outliving(ExactCase):
    def test_a_daemon_does_not_hold_up_the_end_and_goes_on_unharmed(self):
        process, tag = self.start([SHADOWPROF, "run", "-q", *EXACT, "-o", self.profile_path, "--",
                                   FAMILY, "daemon"], stdout=subprocess.PIPE)
        self.addCleanup(self._kill_all, process.pid, tag)
        self.assertEqual(process.wait(HANG_SECONDS), 5)
        daemon, = tagged_processes(tag)
        self.assertEqual(processes.tracer(daemon), 0)
        profile = self.read_profile()
        self.assertTrue(any("still running when it ended" in note for note in profile["notes"]),
                        profile["notes"])
        self.assertEqual([row["pid"] for row in profile["processes"] if row["exit"] == {}],
                         [daemon])
        os.kill(daemon, signal.SIGTERM)
        processes.wait_for((self.folder / "daemon").exists, "the end of the daemon")
        self.assertEqual((self.folder / "daemon").read_text(), "unharmed\n")
        process.stdout.close()
        self.assert_nothing_left(process.pid, tag)

    def start_two(self, amount, stdout):
        """Runs two children at once. Returns shadowprof's process and the tag, when both
        execute."""
        script = (f"'{FAMILY}' work {amount} & '{FAMILY}' work {amount}; echo $?; "
                  "wait $!; echo $?")
        process, tag = self.start([SHADOWPROF, "run", "-q", *EXACT, "-o", self.profile_path, "--",
                                   "sh", "-c", script], stdout=stdout, stderr=subprocess.DEVNULL)
        processes.wait_for(lambda: len(self.children_of_family(tag)) == 2, "the two children")
        return process, tag

    def children_of_family(self, tag):
        """Those that are no copies, which are made to check intervals: a copy is a child of its
        tracer."""
        found = []
        for pid in self.of_family(tag):
            with contextlib.suppress(OSError):
                status = processes.status_of(pid)
                if status["PPid"] != status["TracerPid"]:
                    found.append(pid)
        return found

    def of_family(self, tag):
        found = []
        for pid in tagged_processes(tag):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(FAMILY):
                    found.append(pid)
        return found

    def test_killed_while_it_follows(self):
        """The processes have their state in the emulators, so they end with the tracer."""
        process, tag = self.start_two(1_000_000, subprocess.DEVNULL)
        tracer = {processes.tracer(pid) for pid in self.children_of_family(tag)}
        self.assertEqual(len(tracer), 1)
        os.kill(tracer.pop(), signal.SIGKILL)
        process.wait(HANG_SECONDS)
        processes.wait_for(lambda: not tagged_processes(tag), "the end of the children")
        self.assert_nothing_left(process.pid, tag)

    def test_killed_when_a_copy_was_made(self):
        """To copy a process, shadowprof sets options of its threads anew."""
        process, tag = self.start([SHADOWPROF, "run", "-q", "--mode=exact", "--check=99", "-o",
                                   self.profile_path, "--", FAMILY, "work", "1000000"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes.wait_for(lambda: len(self.of_family(tag)) > 1, "a copy of the process")
        os.kill(processes.tracer(min(self.of_family(tag))), signal.SIGKILL)
        process.wait(HANG_SECONDS)
        processes.wait_for(lambda: not tagged_processes(tag), "the end of the program")
        self.assert_nothing_left(process.pid, tag)

    def test_let_go_while_it_follows(self):
        """When the first process of shadowprof is killed, all are let go with their true state."""
        process, tag = self.start_two(200, subprocess.PIPE)
        process.kill()
        self.assertEqual(process.stdout.read(), b"3\n3\n")
        process.stdout.close()
        process.wait(HANG_SECONDS)
        self.assert_nothing_left(process.pid, tag)


if __name__ == "__main__":
    main()
