"""What surrounds a run: signals for shadowprof, terminals, and streams that cannot be written
to."""

import os
import pty
import signal
import subprocess

import processes
from harness import DENSE, SHADOWPROF, TestCase, main, tagged_processes, victim

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class Signals(TestCase):
    """A signal that only shadowprof gets is passed on, and shadowprof waits for the program's
    end."""

    def start_victim(self, *arguments, options=()):
        process, tag = self.start([SHADOWPROF, "run", "-q", *options, "-o", self.profile_path, "--",
                                   victim("interrupted"), *arguments], stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.read(6), b"ready\n")
        return process, tag

    def test_one_for_shadowprof_alone_reaches_the_program_once(self):
        for options in ([], ["--mode=exact"]):
            for number in ENDING:
                with self.subTest(signal=number, options=options):
                    process, tag = self.start_victim("count", options=options)
                    os.kill(process.pid, number)
                    done = self.finish(process, tag)
                    self.assertEqual((done.code, done.stdout), (41, b"interrupts: 1\n"))
                    self.assertEqual(self.read_profile()["run"]["exit"], {"status": 41})

    def test_one_for_the_whole_group_reaches_the_program_once(self):
        for number in ENDING:
            with self.subTest(signal=number):
                process, tag = self.start_victim("count")
                os.killpg(process.pid, number)
                done = self.finish(process, tag)
                self.assertEqual((done.code, done.stdout), (41, b"interrupts: 1\n"))
                self.assertEqual(self.read_profile()["run"]["exit"], {"status": 41})

    def test_one_that_kills_the_program_ends_shadowprof_in_the_same_way(self):
        for number in ENDING:
            with self.subTest(signal=number):
                process, tag = self.start_victim()
                os.kill(process.pid, number)
                done = self.finish(process, tag)
                self.assertEqual(done.code, -number)
                self.assertEqual(self.read_profile()["run"]["exit"], {"signal": number})

    def test_the_second_one_ends_shadowprof_at_once_and_the_program_goes_on(self):
        process, tag = self.start_victim("count")
        os.kill(process.pid, signal.SIGTERM)
        os.kill(process.pid, signal.SIGHUP)
        process.wait()
        self.assertIn(process.returncode, (-signal.SIGTERM, -signal.SIGHUP))
        self.assertEqual(process.stdout.read(), b"interrupts: 2\n")
        processes.wait_for(lambda: not tagged_processes(tag), "the end of all")
        self.assertFalse(self.profile_path.exists())

    def test_timeout(self):
        command = ["timeout", "1", SHADOWPROF, "run", "-q", "-o", self.profile_path, "--",
                   victim("interrupted")]
        process, tag = self.start(command, stdout=subprocess.PIPE)
        done = self.finish(process, tag)
        self.assertEqual(done.code, 124)
        self.assertEqual(self.read_profile()["run"]["exit"], {"signal": signal.SIGTERM})


class Terminals(TestCase):
    def run_on_terminal(self, *command):
        """Starts a process on a terminal of its own. Returns the process and the terminal's
        other end."""
        pid, other_end = pty.fork()
        if pid == 0:
            os.execv(command[0], command)
        self.addCleanup(lambda: processes.state(pid) in "XZ" or os.kill(pid, signal.SIGKILL))
        return pid, other_end

    def read_until(self, other_end, text):
        seen = b""
        while text not in seen:
            try:
                part = os.read(other_end, 65536)
            except OSError:  # nobody has the terminal open any more
                break
            if not part:
                break
            seen += part
        return seen

    def test_one_that_is_closed_ends_the_program_and_the_profile_is_written(self):
        pid, other_end = self.run_on_terminal(SHADOWPROF, "run", "-o", str(self.profile_path), "--",
                                              victim("interrupted"))
        self.read_until(other_end, b"ready")
        os.close(other_end)
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), -signal.SIGHUP)
        self.assertEqual(self.read_profile()["run"]["exit"], {"signal": signal.SIGHUP})

    def test_the_programs_own_output_stays_as_it_is(self):
        script = "printf 'What now? '; i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; echo done"
        pid, other_end = self.run_on_terminal(SHADOWPROF, "run", "-o", str(self.profile_path), "--",
                                              "/bin/sh", "-c", script)
        self.assertTrue(self.read_until(other_end, b"done").startswith(b"What now? done"))
        self.read_until(other_end, b"profile in")
        os.waitpid(pid, 0)

    def test_progress_is_shown_where_it_is_asked_for(self):
        pid, other_end = self.run_on_terminal(SHADOWPROF, "run", "--progress", "-o",
                                              str(self.profile_path), "--", victim("interrupted"))
        self.read_until(other_end, b"million instructions")
        os.kill(pid, signal.SIGTERM)
        seen = self.read_until(other_end, b"profile in")
        os.waitpid(pid, 0)
        self.assertIn(b"profile in", seen)

    def test_so_is_that_of_verify(self):
        pid, other_end = self.run_on_terminal(SHADOWPROF, "verify", "--progress",
                                              "--max-instructions=100G", "--", victim("interrupted"))
        self.read_until(other_end, b"million instructions")
        self.read_until(other_end, b"to the limit")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Streams(TestCase):
    """If a stream cannot be written to, nothing else changes."""

    CLOSED = ["2>&-", "2>/dev/full", "2>&- >&-"]

    def shell(self, command, redirection):
        line = f'exec "$@" {redirection}'
        return subprocess.run(["/bin/sh", "-c", line, "sh", *map(str, command)], timeout=60,
                              stdout=subprocess.DEVNULL, check=False).returncode

    def setUp(self):
        super().setUp()
        done, _ = self.profile("sh", "-c", "exit 0")
        self.assertEqual(done.code, 0)

    def test_standard_error_of_all_commands(self):
        run = [SHADOWPROF, "run", "-o", self.folder / "other.json"]
        commands = [
            (3, [*run, "--", "sh", "-c", "exit 3"]),
            (3, [*run, "--progress", "--", "sh", "-c", "exit 3"]),
            (3, [*run, "--mode=exact", "--", "sh", "-c", "exit 3"]),
            (127, [*run, "--", "no-such-program"]),
            (0, [SHADOWPROF, "verify", "--", "true"]),
            (125, [SHADOWPROF, "attach", "999999999"]),
            (125, [SHADOWPROF, "report", "no-such-file"]),
            (125, [SHADOWPROF, "no-such-command"]),
        ]
        for redirection in self.CLOSED:
            for expected, command in commands:
                with self.subTest(redirection=redirection, command=command[1:3]):
                    self.assertEqual(self.shell(command, redirection), expected)

    def test_standard_output_of_commands_that_write_there(self):
        for redirection in (">&-", ">/dev/full"):
            for command in (["report", self.profile_path], [], ["--help"], ["run", "--help"],
                            ["report", "--help"], ["--version"],
                            ["export", "--format=folded", self.profile_path]):
                with self.subTest(redirection=redirection, command=command):
                    self.assertEqual(self.shell([SHADOWPROF, *command], redirection + " 2>&-"), 125)

    def test_a_reader_who_goes_away_does_not_harm_the_program(self):
        command = [SHADOWPROF, "run", "--progress", "-o", self.profile_path, "--", "sh", "-c",
                   "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 3"]
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(command, stderr=writing, timeout=60, check=False)
        os.close(writing)
        self.assertEqual(done.returncode, 3)


class Limits(TestCase):
    """The program has its limits unchanged, or a message names the limit that prevents the run."""

    LIMITS = ["-n 64", "-s 64", "-s 256", "-v 2000000", "-v 400000", "-d 400000", "-S -n 32"]
    PROGRAM = ("ulimit -n; ulimit -s; ulimit -v; ulimit -d; ulimit -H -n; ulimit -H -s; "
               "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 5")

    def run_limited(self, limit, *command, prefix=()):
        return self.run_command([*prefix, "bash", "-c", f'ulimit {limit} && exec "$@"', "bash",
                                 *map(str, command)])

    def compare(self, prefix=()):
        profile = self.folder / "limited.json"
        for limit in self.LIMITS:
            for mode in ("sampled", "exact"):
                with self.subTest(limit=limit, mode=mode):
                    plain = self.run_limited(limit, "bash", "-c", self.PROGRAM, prefix=prefix)
                    options = ["--mode=exact"] if mode == "exact" else [DENSE]
                    done = self.run_limited(limit, SHADOWPROF, "run", "-q", *options, "-o", profile,
                                            "--", "bash", "-c", self.PROGRAM, prefix=prefix)
                    if done.code == 125:
                        self.assertIn("the limit on ", done.stderr)
                    else:
                        self.assertEqual((done.code, done.stdout), (plain.code, plain.stdout),
                                         done.stderr)

    def test_of_this_user(self):
        self.compare()

    def test_of_an_ordinary_user(self):
        if os.geteuid() != 0:
            self.skipTest("this is an ordinary user already")
        os.chmod(self.folder, 0o777)
        for parent in self.folder.parents:
            if not parent.stat().st_mode & 0o001:
                self.skipTest(f"nobody may enter {parent}")
        self.compare(prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])


if __name__ == "__main__":
    main()
