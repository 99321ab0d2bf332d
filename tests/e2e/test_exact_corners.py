"""Corner cases of processor and kernel in which an exactly followed program must behave as it
does natively: exact mode and verify step it, stop it at breakpoints and delay its signals."""

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import processes
from harness import SHADOWPROF, TestCase, main, read_symbols, victim

LACKING = 77
# The address of a position-independent program without address space layout randomisation.
PIE_BASE = 0x555555554000
# Too little for the emulator's tables, and enough for everything else.
LITTLE_ADDRESS_SPACE = 4 << 30


def worker_below(pid):
    """Returns the emulator's process among the descendants of a process in exact mode."""
    for each in processes.descendants(pid):
        if b"emulation-worker" in pathlib.Path(f"/proc/{each}/cmdline").read_bytes():
            return each
    return None


def limit_address_space():
    resource.setrlimit(resource.RLIMIT_AS, (LITTLE_ADDRESS_SPACE, LITTLE_ADDRESS_SPACE))


class Corners(TestCase):
    def plain(self, *words):
        done = self.run_command([victim("exact_corners"), *words])
        if done.code == LACKING:
            self.skipTest(f"this machine has no {words[0]}")
        self.assertEqual(done.code, 0, done.stdout)
        return done.stdout

    def verified(self, *words, options=()):
        """Runs verify on a program, which must behave as natively. Returns verify's status and
        messages."""
        expected = self.plain(*words)
        done = self.shadowprof("verify", *options, "--", victim("exact_corners"), *words)
        self.assertEqual(done.stdout, expected, done.stderr)
        return done.code, done.stderr

    def proven(self, *words, options=()):
        code, text = self.verified(*words, options=options)
        self.assertEqual(code, 0, text)
        self.assertIn(" 0 diverged", text)
        return text

    def exact(self, *words, options=()):
        """Returns the exact profile of a program, which must behave as natively."""
        expected = self.plain(*words)
        done, profile = self.profile(victim("exact_corners"), *words,
                                     options=("--mode=exact", *options))
        self.assertEqual((done.code, done.stdout), (0, expected), done.stderr)
        exact = profile["sampling"]["exact"]
        self.assertEqual(exact["diverged"], 0, profile["notes"])
        return exact

    def test_step_of_a_program_that_ignores_sigtrap_leaves_it_ignored(self):
        self.proven("ignored")
        self.exact("ignored")

    def test_step_of_a_program_that_blocks_sigtrap_leaves_it_blocked(self):
        self.proven("blocked")
        self.exact("blocked")

    def test_call_by_another_instruction_is_made_once_and_right(self):
        code, text = self.verified("int80")
        self.assertEqual(code, 1, text)
        self.assertIn("not verified to the end: it made a system call by an instruction", text)
        self.assertIn("instruction other than SYSCALL", self.exact("int80")["stopped_early"])

    def test_single_steps_of_the_program_itself_are_its_own(self):
        text = self.proven("traps")
        self.assertIn("not compared: the program single-steps itself", text)
        for _ in range(3):
            self.exact("traps", options=("--check=50%",))

    def test_limit_behind_a_stepped_instruction_kills_nobody(self):
        """The first intervals end at instructions that are left to the hardware, so one of these
        limits is reached behind such an instruction."""
        for limit in (1, 1000, 10000, 20000, 30000):
            with self.subTest(limit=limit):
                text = self.proven("spin", "10", options=(f"--max-instructions={limit}",))
                self.assertIn("not verified to the end: the limit", text)

    def test_limit_holds_within_an_interval(self):
        """The program executes 80 million instructions without a system call in between."""
        text = self.proven("spin", "100000", options=("--max-instructions=2M",))
        compared = int(re.search(r"intervals? with (\d+) instructions?", text).group(1))
        self.assertLess(compared, 4_000_000)
        self.assertIn("ended by the limit of instructions", text)

    def test_signals_in_the_tightest_of_loops_cost_little(self):
        """No place of this loop is rare. If each signal took ten seconds, the harness would give
        up."""
        text = self.proven("ticks", "40")
        self.assertIn("signals from outside held", text)
        self.exact("ticks", "5")

    def test_loop_that_a_signal_ends_has_run_until_it_came(self):
        self.proven("alarm")
        self.exact("alarm")

    def test_code_that_changes_all_the_time_is_followed(self):
        """The cost of a change must not grow with the number of changes: otherwise the emulator,
        which has no trace to deliver for a long time, would seem to hang."""
        self.proven("patch", "100000")

    def test_narrowing_names_the_wrong_instruction_among_stored_flags(self):
        """The emulator sees `mov $42, %edx` as `mov $43, %edx`. Before and behind it PUSHF
        stores the flags, which must not show the single-steps."""
        address = PIE_BASE + read_symbols(victim("exact_corners"))["corners_constant"]
        code, text = self.verified("flags",
                                   options=("--narrow", f"--fault={address + 1:#x}"))
        self.assertEqual(code, 1, text)
        found = text.partition("first wrong instruction")[2]
        self.assertIn(f"{address:#x} ", found, text)
        self.assertIn("mov edx, 0x2A", found)

    def test_narrowing_names_no_instruction_where_none_is_wrong(self):
        """The emulator's memory lacks what another process writes while the program waits."""
        code, text = self.verified("written", options=("--narrow",))
        self.assertEqual(code, 1, text)
        self.assertIn("the emulator's memory was not the program's", text)
        self.assertNotIn("first wrong instruction", text)

    def test_threads_behind_the_second_are_not_traced(self):
        """Tracing each thread would cost stops of it and of the thread that creates it."""
        code, text = self.verified("threads", "20")
        self.assertEqual(code, 1, text)
        self.assertIn("it started a second thread", text)

    def test_memory_that_forks_leave_out_is_in_the_copies_that_run_natively(self):
        for name in ("unforked", "wiped"):
            expected = self.run_command([victim(name), "3000"]).stdout
            for follow in ("no", "yes"):
                with self.subTest(name, follow_forks=follow):
                    done, profile = self.profile(
                        victim(name), "3000",
                        options=("--mode=exact", "--check=100%", f"--follow-forks={follow}"))
                    self.assertEqual((done.code, done.stdout), (0, expected), done.stderr)
                    exact = profile["sampling"]["exact"]
                    self.assertEqual(exact["diverged"], 0, profile["notes"])
                    self.assertGreater(exact["compared"], 10)

    def test_memory_with_a_protection_key_is_left_to_the_processor(self):
        self.assertIn("protection keys", self.exact("keys")["stopped_early"])
        code, text = self.verified("keys")
        self.assertEqual(code, 1, text)
        self.assertIn("not verified to the end: its memory has protection keys", text)
        self.assertIn(" 0 diverged", text)

    def test_worker_that_cannot_start_is_no_success(self):
        for words in (("run", "--mode=exact", "-o", self.profile_path), ("verify",)):
            done = self.shadowprof(*words, "--", victim("exact_corners"), "nothing",
                                   preexec_fn=limit_address_space)
            self.assertEqual((done.code, done.stdout), (125, b""), done.stderr)
            self.assertIn("address space (ulimit -v)", done.stderr)
        self.assertFalse(self.profile_path.exists())

    def test_worker_that_dies_is_named_as_what_ended_the_profile(self):
        process, tag = self.start([SHADOWPROF, "run", "--mode=exact", "-o", self.profile_path, "--",
                                   victim("interrupted"), "count"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        worker = worker_below(process.pid)
        os.kill(worker, signal.SIGKILL)
        processes.wait_for(lambda: worker not in processes.descendants(process.pid),
                           "the worker's end")
        os.killpg(process.pid, signal.SIGINT)
        done = self.finish(process, tag)
        self.assertEqual(done.code, -signal.SIGKILL, done.stderr)
        said = "shadowprof killed the program, as the state in which it would go on was lost: " \
               "the emulator's process has ended"
        self.assertIn(f"does not have the rest of the run: {said}", done.stderr)
        self.assertEqual(self.read_profile()["sampling"]["exact"]["stopped_early"], said)


class OwnMemory(TestCase):
    """What a program does to its own memory by system calls. In exact mode the process that makes
    them has a memory of its own, which must be the program's where that matters."""

    def compare(self, *words, prefix=(), options=()):
        """Compares a program with itself alone. Returns the messages."""
        command = [victim(words[0]), *words[1:]]
        plain = self.run_command([*prefix, *command])
        if plain.code == LACKING:
            self.skipTest(f"this machine lacks what {words} needs")
        done = self.run_command([*prefix, SHADOWPROF, "run", "--mode=exact", *options, "-o",
                                 self.profile_path, "--", *command])
        self.assertEqual((done.code, done.stdout), (plain.code, plain.stdout), done.stderr)
        self.assertEqual(self.read_profile()["sampling"]["exact"]["diverged"], 0)
        return done.stderr

    def test_what_calls_do_to_parts_of_pages(self):
        self.compare("own_memory", "parts")

    def test_calls_that_fail_at_once_or_halfway_leave_what_they_leave_natively(self):
        self.compare("own_memory", "failing")
        self.compare("own_memory", "halfway")

    def test_pages_that_become_guards(self):
        self.compare("own_memory", "guards")

    def test_program_that_handles_its_own_system_calls_is_let_go(self):
        self.assertIn("handles its own system calls", self.compare("own_memory", "dispatch"))

    def test_stack_whose_limit_the_program_raises(self):
        self.compare("own_memory", "stack")

    def test_end_beside_a_thread_that_sleeps(self):
        for kind in ("exit", "exit-other", "exit-kill", "exit-call"):
            with self.subTest(kind):
                self.compare("own_memory", kind)

    def test_an_ordinary_user_need_not_be_able_to_read_the_program(self):
        """shadowprof lets it go, and says why."""
        prefix = ()
        file = self.folder / "executable"
        shutil.copy(victim("own_memory"), file)
        file.chmod(0o711)
        if os.geteuid() == 0:
            prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
            self.folder.chmod(0o777)
            reached = (*self.folder.parents, *pathlib.Path(SHADOWPROF).resolve().parents,
                       *pathlib.Path(victim("own_memory")).resolve().parents)
            if shutil.which("setpriv") is None or any(
                    not parent.stat().st_mode & 0o001 for parent in reached):
                self.skipTest("an ordinary user cannot run the program here")
        self.assertIn("only root may read", self.compare("own_memory", "undumpable", prefix=prefix))
        if prefix:
            self.assertIn("shadowprof may not read",
                          self.compare("own_memory", "exec", str(file), prefix=prefix))

    def test_random_calls_have_the_results_and_leave_the_memory_of_a_native_run(self):
        self.compare("random_calls", "1", "400", options=("--check=20%",))


if __name__ == "__main__":
    main()
