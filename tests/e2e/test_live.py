"""`run --live` and `attach --live`: the screen that shows a run under way, on a pseudo-terminal."""

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from harness import HANG_SECONDS, SHADOWPROF, TestCase, main, victim

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
HOT = b"edges_"  # how the functions begin in which the victim spends its time
TERMINAL = {"TERM": "xterm"}

# Works until the file `done` exists.
WORK = f"while ! [ -e done ]; do '{victim('edges')}' 300000; done"


class Screen:
    """A pseudo-terminal, and all that was written to it."""

    def __init__(self, test, width=100, height=30):
        self.test = test
        self.master, self.slave = pty.openpty()
        self.resize(width, height)
        self.seen = b""

    def resize(self, width, height):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds):
        """Reads what is written within some time. Returns false if nobody can write any more."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        with contextlib.suppress(OSError):  # EIO: no process has the terminal open
            text = os.read(self.master, 65536)
            self.seen += text
            return bool(text)
        return False

    def expect(self, text):
        """Reads until the text comes. Returns what came behind it, and forgets what was before."""
        deadline = time.monotonic() + HANG_SECONDS
        while text not in self.seen:
            self.test.assertLess(time.monotonic(), deadline, f"no {text} in {self.seen[-3000:]}")
            self.test.assertTrue(self.read(1), f"no {text} in {self.seen[-3000:]}")
        self.seen = self.seen.partition(text)[2]

    def rest(self):
        """Returns what comes until no process has the terminal open."""
        os.close(self.slave)
        while self.read(HANG_SECONDS):
            pass
        os.close(self.master)
        return self.seen


def frames(text):
    """Returns the lines of each drawing."""
    drawings = text.replace(b"\r\r\n", b"\n").split(b"\x1b[H")[1:]
    return [re.sub(rb"\x1b\[[?0-9]*[a-zA-Z]", b"", drawing).decode(errors="replace").splitlines()
            for drawing in drawings]


class LiveCase(TestCase):
    def on_screen(self, *words, **options):
        """Starts shadowprof with standard error on a new screen."""
        screen = Screen(self)
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                   "stderr": screen.slave, "env": TERMINAL, **options}
        started = self.start([SHADOWPROF, *map(str, words)], **options)
        return screen, started

    def end_work(self):
        (self.folder / "done").touch()


class Run(LiveCase):
    def run_live(self, script, *options):
        return self.on_screen("run", "--live", "-q", "-o", self.profile_path, *options, "--", "sh",
                              "-c", script)

    def test_the_hot_function_is_shown_and_the_screen_restored(self):
        screen, started = self.run_live(f"{WORK}; exit 7")
        screen.expect(ENTER)
        screen.expect(HOT)
        self.end_work()
        done = self.finish(*started)
        self.assertEqual(done.code, 7)
        rest = screen.rest()
        self.assertEqual(rest.count(LEAVE), 1)
        self.assertEqual(rest.partition(LEAVE)[2], b"")
        self.assertNotIn(ENTER, rest)
        self.read_profile()

    def test_ctrl_c_ends_the_program_and_restores_the_screen(self):
        screen, started = self.run_live(WORK)
        screen.expect(HOT)
        os.killpg(started[0].pid, signal.SIGINT)
        done = self.finish(*started)
        self.assertEqual(done.code, -signal.SIGINT)
        self.assertTrue(screen.rest().endswith(LEAVE))
        self.read_profile()

    def test_the_size_of_the_terminal_is_kept_when_it_changes(self):
        screen, started = self.run_live(WORK)
        screen.expect(HOT)
        screen.resize(50, 9)
        screen.expect(b"\x1b[H")
        screen.expect(b"\x1b[H")
        screen.expect(b"\x1b[H")
        screen.seen = b"\x1b[H" + screen.seen
        self.end_work()
        self.assertEqual(self.finish(*started).code, 0)
        for lines in frames(screen.rest().partition(LEAVE)[0]):
            self.assertLessEqual(len(lines), 9)
            for line in lines:
                self.assertLessEqual(len(line), 50)

    def test_a_stopped_terminal_does_not_hold_up_the_end(self):
        screen, started = self.run_live(f"{WORK}; exit 7")
        screen.expect(HOT)
        termios.tcflow(screen.slave, termios.TCOOFF)
        self.end_work()
        done = self.finish(*started)
        self.assertEqual(done.code, 7)
        self.read_profile()
        termios.tcflow(screen.slave, termios.TCOON)
        screen.rest()

    def test_a_terminal_that_nobody_reads_does_not_hold_up_the_end(self):
        screen, started = self.run_live(f"{WORK}; exit 7")
        screen.expect(HOT)
        os.set_blocking(screen.slave, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(screen.slave, b"x" * 4096)
        self.end_work()
        self.assertEqual(self.finish(*started).code, 7)
        self.read_profile()
        screen.rest()

    def test_the_signal_that_ends_shadowprof_itself_restores_the_screen(self):
        screen, started = self.run_live(f"trap '' TERM; {WORK}")
        self.addCleanup(self._kill_all, started[0].pid, started[1])
        screen.expect(HOT)
        started[0].send_signal(signal.SIGTERM)
        for _ in range(2):  # the first signal is passed on meanwhile
            screen.expect(b"\x1b[H")
        started[0].send_signal(signal.SIGTERM)
        self.assertEqual(started[0].wait(HANG_SECONDS), -signal.SIGTERM)
        screen.expect(LEAVE)
        self.end_work()
        self.assertNotIn(ENTER, screen.rest())

    def test_killed_tracers_leave_no_screen(self):
        screen, started = self.run_live(WORK)
        screen.expect(HOT)
        tracer = subprocess.run(["pgrep", "-P", str(started[0].pid), "-x", "sp-tracer"],
                                capture_output=True, text=True, check=True).stdout.split()[0]
        os.kill(int(tracer), signal.SIGKILL)
        screen.expect(LEAVE)
        self._kill_all(started[0].pid, started[1])
        started[0].wait()
        screen.rest()

    def test_what_is_written_to_the_same_terminal_is_refused(self):
        screen = Screen(self)
        done = self.shadowprof("run", "--live", "true", stdout=screen.slave, stderr=screen.slave,
                               env=TERMINAL)
        self.assertEqual(done.code, 125)
        text = screen.rest()
        self.assertIn(b"redirect it", text)
        self.assertNotIn(b"\x1b", text)

    def test_without_a_fitting_terminal_it_says_what_is_needed(self):
        done = self.shadowprof("run", "--live", "true", env=TERMINAL)
        self.assertEqual(done.code, 125)
        self.assertIn("--live needs a terminal", done.stderr)
        screen = Screen(self)
        done = self.shadowprof("run", "--live", "true", stderr=screen.slave, env={"TERM": "dumb"})
        self.assertEqual(done.code, 125)
        self.assertIn(b"TERM", screen.rest())
        done = self.shadowprof("run", "--live", "--mode=exact", "true")
        self.assertIn("--live cannot be used with --mode=exact", done.stderr)


class Attach(LiveCase):
    def test_a_process_is_shown_and_goes_on(self):
        process, tag = self.start(["sh", "-c", WORK], stdout=subprocess.DEVNULL)
        self.addCleanup(self._kill_all, process.pid, tag)
        screen, started = self.on_screen("attach", "--live", "-q", "-o", self.profile_path,
                                         "--follow-forks=yes", process.pid)
        screen.expect(ENTER)
        screen.expect(HOT)
        os.killpg(started[0].pid, signal.SIGINT)
        self.assertEqual(self.finish(*started).code, 0)
        self.assertTrue(screen.rest().endswith(LEAVE))
        self.assertIsNone(process.poll())
        self.end_work()
        self.assertEqual(process.wait(HANG_SECONDS), 0)

    def test_a_process_that_writes_to_the_terminal_is_refused(self):
        screen = Screen(self)
        process, tag = self.start(["sh", "-c", WORK], stdout=screen.slave)
        self.addCleanup(self._kill_all, process.pid, tag)
        done = self.shadowprof("attach", "--live", process.pid, stderr=screen.slave, env=TERMINAL)
        self.assertEqual(done.code, 125)
        self.end_work()
        self.assertEqual(process.wait(HANG_SECONDS), 0)
        self.assertIn(b"from another terminal", screen.rest())


class Shell(LiveCase):
    """Job control of a shell on the terminal that controls it."""

    def stop_and_go_on(self, command):
        bash = shutil.which("bash")
        if bash is None:
            self.skipTest("bash is not installed")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.environ.update(TERMINAL, SHADOWPROF_OPTIONS="", PS1="ready> ")
            os.execv(bash, [bash, "--norc", "--noprofile", "-i"])
        screen = Screen(self)
        os.close(screen.master)
        screen.master = terminal
        screen.resize(100, 30)
        screen.expect(b"ready> ")
        os.write(terminal, f"{command}\n".encode())
        screen.expect(HOT)
        os.write(terminal, b"\x1a")
        screen.expect(LEAVE)
        screen.expect(b"Stopped")
        self.assertNotIn(ENTER, screen.seen)
        screen.expect(b"ready> ")
        os.write(terminal, b"fg\n")
        screen.expect(ENTER)
        screen.expect(HOT)
        os.write(terminal, b"\x03")
        screen.expect(LEAVE)
        screen.expect(b"ready> ")
        os.write(terminal, b"exit 5\n")
        screen.rest()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5)

    def test_a_stopped_run_leaves_the_screen(self):
        self.stop_and_go_on(f"'{SHADOWPROF}' run --live -q -o p.json '{victim('edges')}' 2000000000 "
                            "> out")

    def test_standard_error_may_be_a_file(self):
        self.stop_and_go_on(f"'{SHADOWPROF}' run --live -q -o p.json '{victim('edges')}' 2000000000 "
                            "> out 2> errors")

    def test_a_stopped_attach_leaves_the_screen(self):
        process, tag = self.start(["sh", "-c", WORK], stdout=subprocess.DEVNULL)
        self.addCleanup(self._kill_all, process.pid, tag)
        self.stop_and_go_on(f"'{SHADOWPROF}' attach --live -q -o p.json --follow-forks=yes "
                            f"{process.pid}")
        self.assertIsNone(process.poll())
        self.end_work()
        self.assertEqual(process.wait(HANG_SECONDS), 0)


if __name__ == "__main__":
    main()
