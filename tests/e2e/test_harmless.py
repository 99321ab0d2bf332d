"""The target must not notice anything: same output, same ending, no effect doubled, nothing
left."""

import contextlib
import os
import signal
import subprocess
import time

import processes
from harness import (DENSE, HANG_SECONDS, SELF_EXEC, SHADOWPROF, WORK_FACTORS, TestCase, main,
                     tagged_processes, taken, victim, whole)


def target_pid(program, tag):
    """Returns the oldest process that runs the program's file, which is no replica; None if none
    does."""
    found = []
    for pid in tagged_processes(tag):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(victim(program)):
                found.append((processes.start_time(pid), pid))
    return min(found, default=(None, None))[1]


class Harmless(TestCase):
    def test_effects_happen_once(self):
        world = self.folder / "world"
        world.mkdir()
        rounds = 15000
        done, profile = self.profile(victim("effects"), world, str(rounds),
                                     options=(DENSE, "--sample-size=1M"))
        self.assertEqual((done.code, done.stderr), (0, ""), done.stdout)
        self.assertIn(b"each once", done.stdout)
        self.assertEqual((world / "log").read_text(),
                         "".join(f"round {i}\n" for i in range(1, rounds + 1)))
        mapped = (world / "mapped").read_bytes()
        self.assertEqual(int.from_bytes(mapped[:8], "little"), rounds)
        self.assertEqual(mapped[8:], bytes(4088))
        self.assertEqual({path.name for path in world.iterdir()},
                         {"log", "mapped", f"final-{rounds}"})
        # The samples met the system calls, or else nothing would be proved.
        self.assertGreater(profile["syscalls"]["output"], 0)
        # A whole sample contains four rounds.
        self.assertGreater(sum(profile["syscalls"]["by_name"].get(name, 0)
                               for name in ("write", "rename", "unlink", "sendto")),
                           20 * whole(profile))

    def test_a_parent_sees_no_child_that_is_not_its_own(self):
        for factor in WORK_FACTORS:
            rounds = 80 * factor
            done, profile = self.profile(victim("children"), str(rounds))
            text = f"children: {rounds} rounds, {4 * rounds} children\n"
            self.assertEqual((done.code, done.stdout), (0, text.encode()))
            if profile.samples >= 5:
                break
        self.assertGreaterEqual(profile.samples, 5)

    def test_registers_and_memory_stay_as_they_were(self):
        for threads in (1, 3):
            with self.subTest(threads=threads):
                def command(factor):
                    return victim("checksum"), str(threads), str(500 * factor)

                for factor in WORK_FACTORS:
                    plain = self.run_command(command(factor))
                    self.assertEqual(plain.code, 0, plain.stdout)
                    done, profile = self.profile(*command(factor))
                    self.assertEqual((done.code, done.stdout), (0, plain.stdout))
                    if taken(profile) > 20:
                        break
                self.assertGreater(taken(profile), 20)

    def test_time_goes_forward(self):
        done, profile = self.profile_until(
            lambda profile: whole(profile) > 20,
            lambda factor: (victim("clock"), str(9_000_000 * factor)))
        self.assertEqual(done.code, 0, done.stdout)
        self.assert_sampled_well(profile)

    def test_memory_that_forks_leave_out_is_sampled_and_still_left_out(self):
        done, profile = self.profile_until(
            lambda profile: whole(profile) >= 3,
            lambda factor: (victim("unforked"), str(4_000_000 * factor)))
        self.assertEqual(done.code, 0, done.stdout)
        # The first samples detect it.
        self.assertGreaterEqual(whole(profile), 3)

    def test_a_wrapper_that_executes_itself_is_followed(self):
        for factor in WORK_FACTORS:
            target = [victim("checksum"), "1", str(500 * factor)]
            plain = self.run_command(target)
            done, profile = self.profile(SELF_EXEC, "3", *target, module=victim("checksum"))
            self.assertEqual((done.code, done.stdout), (0, plain.stdout))
            if profile.samples >= 5:
                break
        self.assertGreaterEqual(profile.samples, 5)
        self.assertIsNotNone(profile.module, "nothing was seen of the program behind the wrapper")

    def test_standard_input_is_the_targets_own(self):
        text = b"one\ntwo\n" * 5000
        path = self.folder / "input"
        path.write_bytes(text)
        with open(path, "rb") as stdin:
            done, _ = self.profile("cat", stdin=stdin)
        self.assertEqual((done.code, done.stdout), (0, text))

    def test_closed_descriptors_stay_closed(self):
        script = "ls -l /proc/self/fd | sed -n 's/.* \\([0-9]*\\) -> .*/\\1/p'"
        for closing in ("<&-", ">&2 2>&-"):
            with self.subTest(closing=closing):
                def run(command):
                    return self.run_command(["sh", "-c", f'exec "$@" {closing}', "sh", *command])
                plain = run(["sh", "-c", script])
                done = run([SHADOWPROF, "run", "-q", "-o", str(self.profile_path), "--", "sh",
                            "-c", script])
                self.assertEqual((done.code, done.stdout), (plain.code, plain.stdout))
                self.read_profile()


class Endings(TestCase):
    HOW = [["exit=0"], ["exit=9"], ["exit=255"], ["signal=15"], ["signal=9"], ["signal=34"],
           ["abort"], ["segv"], ["trap"], ["thread"]]

    def test_exit_status_and_signal_are_the_targets(self):
        for how in self.HOW:
            for milliseconds in ("0", "300"):
                with self.subTest(how=how, milliseconds=milliseconds):
                    command = [victim("dies"), *how, milliseconds]
                    plain = self.run_command(command)
                    done, profile = self.profile(*command)
                    self.assertEqual((done.code, done.stdout, done.stderr),
                                     (plain.code, plain.stdout, ""))
                    self.assertFalse(done.dumped_core, "a second core, of shadowprof")
                    ending = ({"signal": -plain.code} if plain.code < 0
                              else {"status": plain.code})
                    self.assertEqual(profile["run"]["exit"], ending)

    def test_a_program_killed_from_outside(self):
        process, tag = self.start([SHADOWPROF, "run", "-q", "-o", self.profile_path, "--",
                                   victim("interrupted")], stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.read(6), b"ready\n")
        os.kill(target_pid("interrupted", tag), signal.SIGKILL)
        done = self.finish(process, tag)
        self.assertEqual(done.code, -signal.SIGKILL)
        self.assertEqual(self.read_profile()["run"]["exit"], {"signal": signal.SIGKILL})


    def test_signals_of_a_program_to_its_own_group_end_nobody_else(self):
        """shadowprof is in the program's process group."""
        for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGPWR, signal.SIGRTMIN + 6):
            for options in ((), ("--mode=exact",)):
                with self.subTest(signal=int(number), options=options):
                    script = f"trap '' {int(number)}; kill -{int(number)} 0; echo after; exit 3"
                    done, _ = self.profile("sh", "-c", script, options=options)
                    self.assertEqual((done.code, done.stdout), (3, b"after\n"), done.stderr)


class Interrupts(TestCase):
    def interrupt(self, *arguments):
        process, tag = self.start([SHADOWPROF, "run", "-q", DENSE, "-o", self.profile_path, "--",
                                   victim("interrupted"), *arguments], stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.read(6), b"ready\n")
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does at Ctrl-C
        return self.finish(process, tag)

    def test_ctrl_c_reaches_the_target_once_and_the_profile_is_written(self):
        done = self.interrupt("count")
        self.assertEqual((done.code, done.stdout), (41, b"interrupts: 1\n"))
        self.assertGreaterEqual(self.read_profile().samples, 1)

    def test_ctrl_c_that_kills_the_target_ends_shadowprof_in_the_same_way(self):
        done = self.interrupt()
        self.assertEqual(done.code, -signal.SIGINT)
        self.assertEqual(self.read_profile()["run"]["exit"], {"signal": signal.SIGINT})


class Orphans(TestCase):
    """When shadowprof is killed, nothing of it stays, and the target goes on to its end."""

    def kill(self, rounds, moment):
        """Kills shadowprof when moment(tag) returns. Returns the process, the tag and the
        output."""
        output = self.folder / "output"
        with open(output, "wb") as stdout:
            process, tag = self.start([SHADOWPROF, "run", "-q", "--load=4", "-o",
                                       self.profile_path, "--", victim("checksum"), "2", rounds],
                                      stdout=stdout)
        moment(tag)
        process.kill()
        process.wait()
        return process, tag, output

    def test_killed_before_the_target_is_there(self):
        for delay in (0, 0.003, 0.01):
            with self.subTest(delay=delay):
                process, tag, output = self.kill("150", lambda tag: time.sleep(delay))
                self.wait_for_end(tag)
                self.assertIn(output.read_bytes()[:18], (b"checksum: unharmed", b""))
                self.assert_nothing_left(process.pid, tag)

    def test_killed_while_it_samples(self):
        for delay in (0, 0.02, 0.1, 0.2, 0.3):
            with self.subTest(delay=delay):
                def moment(tag):
                    processes.wait_for(lambda: target_pid("checksum", tag), "the target")
                    time.sleep(delay)
                process, tag, output = self.kill("0", moment)
                target = target_pid("checksum", tag)
                processes.wait_for(lambda: len(processes.threads(target)) == 3 and
                                   not any(map(processes.tracer, processes.threads(target))),
                                   "the target to be let go")
                self.assertEqual(processes.children(target), [])
                os.kill(target, signal.SIGTERM)
                self.wait_for_end(tag)
                self.assertEqual(output.read_bytes()[:18], b"checksum: unharmed")
                self.assertFalse(self.profile_path.exists())
                self.assert_nothing_left(process.pid, tag)

    def test_killed_while_it_follows_every_instruction(self):
        script = "i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done; echo unharmed"
        output = self.folder / "output"
        with open(output, "wb") as stdout:
            process, tag = self.start([SHADOWPROF, "run", "-q", "--mode=exact", "-o",
                                       self.profile_path, "--", "dash", "-c", script],
                                      stdout=stdout)
        processes.wait_for(lambda: target_pid("/usr/bin/dash", tag), "the target")
        target = target_pid("/usr/bin/dash", tag)
        time.sleep(0.3)
        process.kill()
        process.wait()
        processes.wait_for(lambda: not processes.tracer(target), "the target to be let go")
        self.wait_for_end(tag)
        self.assertEqual(output.read_bytes(), b"unharmed\n")
        self.assertFalse(self.profile_path.exists())
        self.assert_nothing_left(process.pid, tag)

    def wait_for_end(self, tag):
        processes.wait_for(lambda: not tagged_processes(tag), "the end of all", HANG_SECONDS)


if __name__ == "__main__":
    main()
