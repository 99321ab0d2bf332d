"""Samples of programs that read pipes, sockets and terminals: see tests/victims/input.c."""

import signal
import subprocess

import bounds
import processes
from harness import DENSE, WORK_FACTORS, TestCase, main, victim, whole

MEBIBYTES = 16
BUFFER_BYTES = 4096  # size of each read
WITH_ONE_STREAM = ("read", "readv", "recv", "terminal", "restarted", "interrupted")
WITH_TWO = ("poll", "select", "epoll", "threads", "server")


class Input(TestCase):
    def low_bytes(self, profile):
        """Returns (how often the branch for bytes below 64 was taken, how often it was
        executed)."""
        counts = profile.edge_counts()
        low = profile.symbols["input_low"]
        taken = counts.get((low, "input_low_taken"), 0)
        return taken, taken + counts.get((low, "input_low_not"), 0)

    def reader_samples(self, profile):
        """Returns how many samples are of the process that reads: its children, the senders, are
        followed too."""
        reader, = (row for row in profile["processes"] if row["parent"] is None)
        return reader["samples"]

    def assert_right_bytes(self, profile, least):
        """Checks that samples saw the bytes that were sent, of which a random quarter is below
        64."""
        low, executions = self.low_bytes(profile)
        self.assertGreater(executions, least)
        self.assertLessEqual(abs(low - executions / 4), bounds.binomial(executions, 0.25))

    def min_of_going_on(self, profile):
        """Returns more executions than samples can have that stop at reads: each of them sees
        only the rest of one buffer."""
        return 2 * BUFFER_BYTES * self.reader_samples(profile)

    def go_on_over_reads(self, profile):
        return (self.low_bytes(profile)[1] > self.min_of_going_on(profile)
                and whole(profile) > 0)


class Run(Input):
    def record(self, way, *options, size="1M", record="--record-input"):
        """Records input, with more and more work, until samples continue over reads. Samples do
        not wait for a slow program, and some are of the victim's check, which reads nothing, so
        the number depends on the machine."""
        def command(factor):
            self.mebibytes = factor * MEBIBYTES
            return victim("input"), way, self.mebibytes

        done, profile = self.profile_until(self.go_on_over_reads, command, module=victim("input"),
                                           options=(record, f"--sample-size={size}", *options))
        self.assertEqual((done.code, done.stderr), (0, ""), done.stdout)
        self.assert_right_bytes(profile, self.min_of_going_on(profile))
        self.assertGreater(whole(profile), 0)
        return done, profile

    def test_output_is_the_same_and_samples_go_on_over_what_is_read(self):
        for way in (*WITH_ONE_STREAM, *WITH_TWO):
            with self.subTest(way=way):
                done, profile = self.record(way)
                plain = self.run_command([victim("input"), way, str(self.mebibytes)])
                self.assertEqual(plain.code, 0, plain.stdout)
                self.assertEqual(done.stdout, plain.stdout)
                sampling = profile["sampling"]
                self.assertGreater(sampling["counters"]["input_calls"], 0)
                self.assertGreater(sampling["counters"]["input_bytes"], 0)

    def test_without_it_they_end(self):
        done, profile = self.profile(victim("input"), "read", MEBIBYTES, module=victim("input"),
                                     options=["--record-input=no", "--follow-forks=no", "--sample-size=1M"])
        self.assertEqual(done.code, 0, done.stdout)
        sampling = profile["sampling"]
        ended = sampling["ended"].get("input", 0)
        self.assertGreater(ended, 0)
        _, executions = self.low_bytes(profile)
        self.assertLess(executions, 2 * BUFFER_BYTES * ended)
        self.assertFalse([name for name in sampling["counters"] if name.startswith("input")])
        self.assertEqual(profile["run"]["options"]["record-input"], "no")

    def test_it_is_recorded_where_samples_would_end(self):
        for way in ("read", "epoll"):
            with self.subTest(way=way):
                _, profile = self.record(way, "--follow-forks=no", "--budget=50%", record="--record-input=auto")
                self.assertGreater(profile["sampling"]["counters"]["input_calls"], 0)
                self.assertEqual(profile["run"]["options"]["record-input"], "auto")

    def test_without_a_budget_it_is_not_recorded_unless_asked_for(self):
        _, profile = self.profile(victim("input"), "read", MEBIBYTES, module=victim("input"),
                                  options=["--follow-forks=no", "--load=2", "--sample-size=100k"])
        self.assertFalse([name for name in profile["sampling"]["counters"] if name.startswith("input")])

    def test_what_it_costs_is_in_the_profile(self):
        _, profile = self.record("read", "--follow-forks=no")
        counters = profile["sampling"]["counters"]
        self.assertGreaterEqual(counters["input_stops"], 2 * counters["input_calls"])
        self.assertGreater(counters["input_stops_ns"], 0)
        cost = counters["input_stops_ns"] / 1e9 / profile["run"]["seconds"]
        self.assertGreater(profile["overhead"]["estimated_slowdown_percent"], 100 * cost)
        self.assertEqual(profile["run"]["options"]["record-input"], "yes")

    def test_overlapping_samples_get_each_their_own(self):
        for way in ("read", "poll"):
            with self.subTest(way=way):
                self.record(way, "--load=4", size="300k")

    def test_a_program_without_input_is_sampled_as_without(self):
        done, profile = self.profile_until(
            lambda profile: whole(profile) >= 5,
            lambda factor: (victim("checksum"), "2", str(150 * factor)),
            options=("--record-input",))
        self.assertEqual(done.code, 0, done.stdout)
        self.assert_sampled_well(profile)
        self.assertEqual(profile["sampling"]["counters"]["input_calls"], 0)

    def test_effects_happen_once(self):
        world = self.folder / "world"
        world.mkdir()
        done, profile = self.profile(victim("effects"), world, "5000",
                                     options=("--record-input",))
        self.assertEqual((done.code, done.stderr), (0, ""), done.stdout)
        self.assertIn(b"each once", done.stdout)
        self.assertGreater(profile["syscalls"]["output"], 0)

    def test_children_and_their_parent(self):
        done, _ = self.profile(victim("children"), "20", options=("--record-input",))
        self.assertEqual((done.code, done.stdout), (0, b"children: 20 rounds, 80 children\n"))

    def test_exact_mode_needs_and_takes_none(self):
        done = self.shadowprof("run", "--mode=exact", "--record-input", "true")
        self.assertEqual(done.code, 125)
        self.assertIn("--record-input", done.stderr)


class Attached(Input):
    def attach(self, pid, duration):
        # Samples of one size have the same weight: the bounds assume equal weights.
        return self.shadowprof("attach", "-q", "-o", self.profile_path, "--record-input", DENSE,
                               "--sample-size=1M", f"--duration={duration}", pid)

    def check(self, way):
        target, tag = self.start([victim("input"), way, "0"], stdout=subprocess.PIPE)
        processes.wait_for(lambda: len(processes.children(target.pid)) > 0, "its children")
        processes.wait_for(lambda: processes.cpu_seconds(target.pid) > 0.05, "it to read")
        for factor in WORK_FACTORS:
            done = self.attach(target.pid, f"{250 * factor}ms")
            self.assertEqual((done.code, done.stdout, done.stderr), (0, b"", ""))
            self.assertEqual(processes.tracer(target.pid), 0)
            profile = self.read_profile(victim("input"))
            if self.low_bytes(profile)[1] > 10_000:
                break
        seen = processes.cpu_seconds(target.pid)
        processes.wait_for(lambda: processes.cpu_seconds(target.pid) > seen, "it to go on")
        target.send_signal(signal.SIGTERM)
        end = self.finish(target, tag)
        self.assertEqual((end.code, end.stdout), (0, b"input: unharmed\n"))
        self.assert_right_bytes(profile, 10_000)

    def test_readers_go_on_unharmed(self):
        for way in (*WITH_ONE_STREAM, "poll", "select", "epoll", "threads"):
            with self.subTest(way=way):
                self.check(way)

    def test_a_call_that_waits_is_not_disturbed(self):
        for call in ("read", "epoll"):
            with self.subTest(call=call):
                target, tag = self.start([victim("blocked"), call], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
                self.assertEqual(target.stdout.readline(), b"ready\n")
                processes.wait_for(lambda: processes.state(target.pid) == "S", "the call")
                before = processes.facts(target.pid)
                done = self.attach(target.pid, "300ms")
                self.assertEqual((done.code, done.stdout, done.stderr), (0, b"", ""))
                self.assertEqual(processes.facts(target.pid), before)
                target.stdin.write(b"x")
                target.stdin.close()
                target.stdin = None
                end = self.finish(target, tag)
                self.assertEqual((end.code, end.stdout), (0, b"whole\n"))


if __name__ == "__main__":
    main(verbosity=2)
