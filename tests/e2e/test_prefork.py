"""Attaches to servers whose children do the work, with and without these children."""

import subprocess

import processes
from harness import SHADOWPROF, WORK_FACTORS, TestCase, dense, main, tagged_processes, victim

PREFORK = victim("prefork")
FUNCTIONS = [{"prefork_first", "prefork_first_thread"},
             {"prefork_second", "prefork_second_thread"}]


class Prefork(TestCase):
    def setUp(self):
        super().setUp()
        self.server, self.tag = self.start([PREFORK], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE)
        self.addCleanup(self.discard)
        processes.wait_for(lambda: len(processes.children(self.server.pid)) == 2, "two children")
        self.children = processes.children(self.server.pid)
        for child in self.children:
            processes.wait_for(lambda: len(processes.threads(child)) == 2, "a thread of its own")
            for tid in processes.threads(child):
                processes.wait_for(lambda: processes.cpu_seconds(child, tid) > 0.05, "work")

    def discard(self):
        self._kill_all(self.server.pid, self.tag)
        for stream in (self.server.stdin, self.server.stdout):
            if stream is not None:
                stream.close()
        self.server.wait()

    def facts(self):
        return [processes.facts(pid) for pid in (self.server.pid, *self.children)]

    def end_unharmed(self):
        """Ends the server, which checks its own results and its children."""
        self.server.stdin.close()
        self.server.stdin = None
        done = self.finish(self.server, self.tag)
        self.assertEqual((done.code, done.stdout), (0, b"prefork: unharmed\n"))

    def attach(self, pid, *options, duration_ms=500, quiet=True):
        """Returns the profile, and what was said on standard error."""
        self.profile_path.unlink(missing_ok=True)
        done = self.run_command([SHADOWPROF, "attach", *(["-q"] if quiet else []),
                                 "-o", self.profile_path, f"--duration={duration_ms}ms",
                                 *dense(options), str(pid)])
        self.assertEqual((done.code, done.stdout), (0, b""), done.stderr)
        return self.read_profile(), done.stderr

    def rows(self, profile):
        return {row["pid"]: row for row in profile["processes"]}

    def functions(self, profile):
        """Returns the functions of the server that any sample executed."""
        names = {profile.locations[stack["frames"][-1]]["function"]
                 for stack in profile["stacks"] if stack["instructions"]}
        return {name for name in names if name.startswith("prefork_")}

    def seen_with_children(self, *options):
        """Attaches until all functions were seen. Returns the profile."""
        before = self.facts()
        for factor in WORK_FACTORS:
            profile, said = self.attach(self.server.pid, "--children", *options,
                                        duration_ms=500 * factor)
            self.assertEqual(said, "")
            self.assertEqual(self.facts(), before)
            if self.functions(profile) == set.union(*FUNCTIONS):
                break
        return profile

    def check_rows(self, profile):
        self.assertEqual(self.functions(profile), set.union(*FUNCTIONS))
        rows = self.rows(profile)
        self.assertLessEqual({self.server.pid, *self.children}, set(rows))
        for child in self.children:
            self.assertEqual(rows[child]["parent"], self.server.pid)
            self.assertEqual(rows[child]["command"], [PREFORK])
            self.assertGreater(rows[child]["samples"], 0)
            self.assertGreater(rows[child]["instructions"], 0)
        self.assertEqual(rows[self.server.pid]["instructions"], 0)

    def test_children_are_sampled_with_their_threads_and_let_go(self):
        profile = self.seen_with_children()
        self.check_rows(profile)
        self.assertEqual(profile["run"]["options"]["children"], "yes")
        self.assertEqual([note for note in profile["notes"] if "'shadowprof attach" in note], [])
        self.end_unharmed()

    def test_so_are_they_where_later_ones_are_followed(self):
        self.check_rows(self.seen_with_children("--follow-forks=yes"))
        self.end_unharmed()

    def test_they_are_let_go_when_shadowprof_is_killed(self):
        before = self.facts()
        profiler, tag = self.start([SHADOWPROF, "attach", "-q", "-o", self.profile_path,
                                    "--children", str(self.server.pid)])
        for pid in (self.server.pid, *self.children):
            processes.wait_for(lambda: processes.tracer(pid) != 0, "the attach")
        profiler.kill()
        profiler.wait()
        processes.wait_for(lambda: not tagged_processes(tag), "the tracer's end")
        self.assertEqual(self.facts(), before)
        self.end_unharmed()

    def test_without_them_they_are_named_with_the_command_that_takes_them(self):
        for factor in WORK_FACTORS:
            profile, said = self.attach(self.server.pid, duration_ms=500 * factor, quiet=False)
            if "2 processes that descend" in said:
                break
        self.assertIn(f"process {self.server.pid} (prefork) ran for ", said)
        self.assertIn("2 processes that descend from it for more: ", said)
        for child in self.children:
            self.assertIn(f"{child} (prefork) ", said)
        self.assertIn(f"'shadowprof attach --children {self.server.pid}'", said)
        line, = [line for line in said.splitlines() if "descend from it" in line]
        self.assertIn(line.removeprefix("shadowprof: "), profile["notes"])
        self.assertEqual(profile["sampling"]["instructions"], 0)
        self.assertEqual(set(self.rows(profile)), {self.server.pid})
        self.end_unharmed()

    def test_nothing_is_said_of_children_of_one_that_has_none(self):
        _, said = self.attach(self.children[0], quiet=False)
        self.assertNotIn("descend", said)
        self.end_unharmed()


if __name__ == "__main__":
    main()
