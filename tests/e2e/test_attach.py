"""Attaches to running processes, and checks that they are as before afterwards."""

import collections
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import processes
from harness import (DENSE, NOBODY, SHADOWPROF, WORK_FACTORS, TestCase, dense, main,
                     tagged_processes, taken, victim)

OWN_FAILURE = 125

# System calls epoll_wait and epoll_pwait.
EPOLL_WAITS = (232, 281)


def hot_functions(profile):
    """Returns {(function, file name of its module): instructions}, hottest first."""
    counts = collections.Counter()
    for stack in profile["stacks"]:
        location = profile.locations[stack["frames"][-1]]
        module = os.path.basename(profile["modules"][location["module"]]["path"])
        counts[location["function"], module] += stack["instructions"]
    return dict(counts.most_common())


class Attach(TestCase):
    """Tests that start a target, one at a time unless they say otherwise, and attach to it."""

    def launch(self, command, **options):
        options.setdefault("stdin", subprocess.PIPE)
        options.setdefault("stdout", subprocess.PIPE)
        process, tag = self.start(command, **options)
        self.addCleanup(self.discard, process, tag)
        return process, tag

    def discard(self, process, tag):
        self._kill_all(process.pid, tag)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()

    def launch_busy(self, threads=1, program=victim("checksum"), **options):
        """Starts a program that checks its own results until it is told to end."""
        target, tag = self.launch([str(program), str(threads), "0"], **options)
        self.wait_until_runs(target.pid, program)
        self.wait_until_busy(target.pid, threads)
        return target, tag

    def wait_until_busy(self, pid, threads):
        """Waits until all threads have computed for a while, and so have everything that they
        need."""
        processes.wait_for(lambda: len(processes.threads(pid)) == threads + 1, "its threads")
        for tid in processes.other_threads(pid):
            processes.wait_for(lambda: processes.cpu_seconds(pid, tid) > 0.05, "it to compute")

    def end_busy(self, target, tag):
        target.terminate()
        done = self.end(target, tag)
        self.assertEqual((done.code, done.stdout[:18]), (0, b"checksum: unharmed"))

    def attach(self, pid, *options, program=SHADOWPROF, **more):
        """Attaches, which must work. Returns the profile."""
        path = self.folder / f"{pid}.json"
        path.unlink(missing_ok=True)
        done = self.run_command([program, "attach", "-q", "-o", path, *dense(options), str(pid)],
                                **more)
        self.assertEqual((done.code, done.stdout, done.stderr), (0, b"", ""))
        return self.read_profile(text=path.read_text())

    def side_by_side(self, check, cases):
        """Checks cases in parallel, each in a thread, because they mostly wait."""
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            ends = [pool.submit(check, case) for case in cases]
        for case, end in zip(cases, ends):
            with self.subTest(case=case):
                end.result()

    def attach_until_seen(self, pid, *options, **more):
        """Attaches for half a second, or longer if that is too short on this machine to see any
        instruction of a process that computes."""
        for factor in WORK_FACTORS:
            profile = self.attach(pid, f"--duration={500 * factor}ms", *options, **more)
            if profile["sampling"]["instructions"] > 0:
                break
        return profile

    def wait_until_runs(self, pid, program):
        """Waits until the forked copy of this process executes the program."""
        processes.wait_for(lambda: os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program),
                           f"{program} to run")

    def end(self, process, tag):
        """Ends a target that waits for the end of its input, and returns how it ended."""
        process.stdin.close()
        process.stdin = None
        return self.finish(process, tag)


class Busy(Attach):
    def check(self, threads):
        target, tag = self.launch_busy(threads)
        before = processes.settled_facts(target.pid)
        profile = self.attach_until_seen(target.pid)
        self.assertEqual(processes.facts(target.pid), before)
        self.end_busy(target, tag)
        self.assertEqual(profile["run"]["command"], [victim("checksum"), str(threads), "0"])
        self.assertEqual(profile["run"]["pid"], target.pid)
        self.assertEqual(profile["run"]["exit"], {})
        self.assertGreater(profile["sampling"]["instructions"], 0)
        self.assertEqual(next(iter(hot_functions(profile))), ("run", "checksum"))

    def test_it_keeps_off_the_processor_that_the_target_runs_on(self):
        """Covers the tracer's threads and the workers; the process above the tracer sleeps."""
        allowed = os.sched_getaffinity(0)
        if len(allowed) < 2:
            self.skipTest("there is one processor")
        busy = min(allowed)
        target, tag = self.launch_busy(preexec_fn=lambda: os.sched_setaffinity(0, {busy}))
        profiler, profiler_tag = self.start(
            [SHADOWPROF, "attach", "-q", "-o", self.profile_path, *dense(()), str(target.pid)])
        self.addCleanup(self._kill_all, profiler.pid, profiler_tag)

        def keeps_off():
            sets = []
            for pid in tagged_processes(profiler_tag):
                if pid == profiler.pid:
                    continue
                # Some threads live only for a moment.
                with contextlib.suppress(OSError):
                    sets += [os.sched_getaffinity(tid) for tid in processes.threads(pid)]
            return len(sets) > 2 and all(busy not in each for each in sets)

        processes.wait_for(keeps_off, "shadowprof to leave the processor to the target")
        self.assertEqual(os.sched_getaffinity(target.pid), {busy})
        profiler.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(profiler, profiler_tag).code, 0)
        self.end_busy(target, tag)

    def test_a_busy_process_goes_on_unharmed(self):
        self.check(1)

    def test_so_do_the_threads_of_one(self):
        self.check(3)

    def test_max_samples_end_it(self):
        target, tag = self.launch_busy()
        profile = self.attach(target.pid, "--max-samples=3")
        self.assertEqual(taken(profile), 3)
        self.assertEqual(processes.tracer(target.pid), 0)
        self.end_busy(target, tag)

    def test_it_ends_when_the_profile_has_converged(self):
        target, tag = self.launch_busy()
        profile = self.attach(target.pid, "--until-converged=25%", "--load=1")
        convergence = profile["sampling"]["convergence"]
        self.assertTrue(convergence["reached"], convergence)
        self.assertLessEqual(convergence["error_percent"], 25)
        self.assertEqual(processes.tracer(target.pid), 0)
        self.end_busy(target, tag)

    def test_many_times_in_a_row(self):
        target, tag = self.launch_busy(2)
        before = processes.settled_facts(target.pid)
        for _ in range(50):
            self.attach(target.pid, "--max-samples=2", "--duration=5s")
            self.assertEqual(processes.facts(target.pid), before)
        self.end_busy(target, tag)

    def test_an_interpreter(self):
        target, _ = self.launch([sys.executable, "-c",
                                 "n = 0\nprint(flush=True)\n"
                                 "while True:\n    n = (n * 3 + 1) % 1000003"])
        self.assertEqual(target.stdout.readline(), b"\n")
        profile = self.attach_until_seen(target.pid)
        self.assertEqual(processes.tracer(target.pid), 0)
        _, module = next(iter(hot_functions(profile)))
        self.assertIn("python", module)

    def test_names_come_from_the_program_that_runs_whatever_has_its_name(self):
        for what in ("deleted", "replaced"):
            with self.subTest(what=what):
                program = self.folder / f"program-{what}"
                shutil.copy(victim("checksum"), program)
                target, tag = self.launch_busy(program=program)
                program.unlink()
                if what == "replaced":
                    shutil.copy(victim("edges"), program)
                profile = self.attach_until_seen(target.pid)
                self.assertEqual(next(iter(hot_functions(profile))), ("run", program.name))
                self.end_busy(target, tag)

    def test_the_first_process_of_a_pid_namespace(self):
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("needs root and unshare to make a pid namespace")
        target, tag = self.launch(["unshare", "--pid", "--fork", victim("checksum"), "2", "0"])
        children = pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children")
        processes.wait_for(lambda: children.read_text().split(), "the first process")
        first = int(children.read_text())
        self.wait_until_runs(first, victim("checksum"))
        self.wait_until_busy(first, 2)
        before = processes.settled_facts(first)
        for options in ([], ["--record-input"], ["--live-timing=50ms/100ms"]):
            with self.subTest(options=options):
                profile = self.attach_until_seen(first, *options)
                self.assertEqual(next(iter(hot_functions(profile))), ("run", "checksum"))
                self.assertEqual(processes.facts(first), before)
        os.kill(first, signal.SIGTERM)
        done = self.end(target, tag)
        self.assertEqual((done.code, done.stdout[:18]), (0, b"checksum: unharmed"))

    def test_names_come_from_the_mount_namespace_of_the_process(self):
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("needs root and unshare to make a mount namespace")
        place = self.folder / "mounted"
        place.mkdir()
        # For us, another program has that name.
        shutil.copy(victim("edges"), place / "program")
        target, tag = self.launch(["unshare", "--mount", "sh", "-c",
                                   'mount -t tmpfs none "$1" && cp "$0" "$1/program" && '
                                   'exec "$1/program" 1 0', victim("checksum"), str(place)])
        processes.wait_for(lambda: processes.status_of(target.pid)["Name"] == "program",
                           "the program to run")
        self.wait_until_busy(target.pid, 1)
        profile = self.attach_until_seen(target.pid)
        self.assertEqual(next(iter(hot_functions(profile))), ("run", "program"))
        self.end_busy(target, tag)


class Ends(Attach):
    def attach_in_background(self, pid):
        process, tag = self.start([SHADOWPROF, "attach", "-q", "-o", self.profile_path, str(pid)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        processes.wait_for(lambda: processes.tracer(pid) != 0, "the attach")
        time.sleep(0.3)
        return process, tag

    def test_a_signal_ends_it_and_the_profile_is_written(self):
        for ending in ([signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP], [signal.SIGQUIT],
                       [signal.SIGINT] * 3):
            with self.subTest(ending=ending):
                target, target_tag = self.launch([victim("interrupted"), "count"])
                self.assertEqual(target.stdout.read(6), b"ready\n")
                process, tag = self.attach_in_background(target.pid)
                for each in ending:
                    os.killpg(process.pid, each)
                done = self.finish(process, tag)
                self.assertEqual((done.code, done.stderr), (0, ""))
                self.assertEqual(processes.tracer(target.pid), 0)
                self.assertEqual(self.read_profile()["run"]["exit"], {})
                os.kill(target.pid, signal.SIGINT)
                done = self.finish(target, target_tag)
                self.assertEqual((done.code, done.stdout), (41, b"interrupts: 1\n"))

    def test_the_process_ends_first(self):
        for how, ending in (("exit=9", {"status": 9}), ("signal=15", {"signal": 15})):
            with self.subTest(how=how):
                target, target_tag = self.launch([victim("dies"), how, "1000"])
                self.wait_until_runs(target.pid, victim("dies"))
                # The stopped target cannot end before the attach.
                os.kill(target.pid, signal.SIGSTOP)
                processes.wait_for(lambda: processes.state(target.pid) == "T", "the stop")
                process, tag = self.start([SHADOWPROF, "attach", "-q", "-o", self.profile_path,
                                           *dense(()), str(target.pid)], stderr=subprocess.PIPE)
                processes.wait_for(lambda: processes.tracer(target.pid) != 0, "the attach")
                os.kill(target.pid, signal.SIGCONT)
                done = self.finish(process, tag)
                self.assertEqual((done.code, done.stderr), (0, ""))
                self.assertEqual(self.read_profile()["run"]["exit"], ending)
                self.finish(target, target_tag)

    def test_the_process_is_killed(self):
        target, target_tag = self.launch_busy(2)
        process, tag = self.attach_in_background(target.pid)
        target.kill()
        done = self.finish(process, tag)
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertEqual(self.read_profile()["run"]["exit"], {"signal": signal.SIGKILL})
        self.assertEqual(self.finish(target, target_tag).code, -signal.SIGKILL)

    def test_a_kill_of_shadowprof_lets_the_process_go(self):
        for delay in (0, 0.02, 0.1, 0.2, 0.4):
            with self.subTest(delay=delay):
                target, target_tag = self.launch_busy(2)
                before = processes.settled_facts(target.pid)
                process, tag = self.start([SHADOWPROF, "attach", "-q", "--load=4", "-o",
                                           self.profile_path, str(target.pid)])
                if delay:
                    processes.wait_for(lambda: processes.tracer(target.pid) != 0, "the attach")
                time.sleep(delay)
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                processes.wait_for(lambda: not tagged_processes(tag), "the end of all of it")
                self.assertEqual(processes.facts(target.pid), before)
                self.assertFalse(self.profile_path.exists())
                self.assertEqual([path.name for path in self.folder.iterdir()], [])
                self.end_busy(target, target_tag)


class Blocked(Attach):
    # Long enough for two attaches, on a machine that is not too busy.
    MILLISECONDS = "4000"
    TIMED = ("nanosleep", "poll", "futex", "epoll-time-out", "sigtimedwait")
    # A stop would be visible in these calls: their thread must not even wake up.
    UNDISTURBED = ("epoll", "epoll-time-out", "accept", "sigtimedwait")

    def wake(self, call, target):
        if call in self.TIMED:
            return
        if call == "accept":
            self.client = socket.socket(socket.AF_UNIX)
            self.addCleanup(self.client.close)
            self.client.connect(str(self.folder / "blocked.socket"))
        else:
            target.stdin.write(b"x")
            target.stdin.flush()

    def switches(self, pid):
        return int(processes.status_of(pid)["voluntary_ctxt_switches"])

    def check(self, call):
        arguments = [self.MILLISECONDS] if call in self.TIMED else []
        target, tag = self.launch([victim("blocked"), call, *arguments])
        self.assertEqual(target.stdout.readline(), b"ready\n")
        processes.wait_for(lambda: processes.state(target.pid) == "S", "the call")
        before, switches = processes.facts(target.pid), self.switches(target.pid)
        for _ in range(2):
            profile = self.attach(target.pid, "--duration=200ms")
            self.assertEqual(profile["sampling"]["ended"].keys() - {"idle"}, set())
            self.assertTrue(any("did not run" in note for note in profile["notes"]),
                            profile["notes"])
            # A restarted call may have to wait for a processor first.
            processes.wait_for(lambda: processes.state(target.pid) == "S", "the call again")
            self.assertEqual(processes.facts(target.pid), before)
        if call in self.UNDISTURBED and call not in self.TIMED:
            self.assertEqual(self.switches(target.pid), switches)
        self.wake(call, target)
        done = self.end(target, tag)
        self.assertEqual((done.code, done.stdout), (0, b"whole\n"))

    def test_a_call_with_a_time_out_takes_it_whole(self):
        self.side_by_side(self.check, self.TIMED)

    def test_a_call_waits_on(self):
        self.side_by_side(self.check, ("read", "epoll", "accept", "wait"))

    def test_a_thread_that_waits_beside_a_busy_one_does_not_wake_up(self):
        script = ("import select, threading\n"
                  "wait = threading.Thread(target=select.epoll().poll, args=[1000], daemon=True)\n"
                  "wait.start()\n"
                  "while True: sum(range(1000))\n")
        target, _ = self.launch([sys.executable, "-c", script])
        processes.wait_for(lambda: len(processes.threads(target.pid)) == 2, "its threads")
        waiting, = processes.other_threads(target.pid)
        processes.wait_for(lambda: processes.syscall(target.pid, waiting) in EPOLL_WAITS, "its wait")
        before = processes.settled_facts(target.pid)
        switches = processes.status_of(target.pid, waiting)["voluntary_ctxt_switches"]
        profile = self.attach_until_seen(target.pid)
        self.assertGreater(profile["sampling"]["instructions"], 0)
        self.assertEqual(processes.facts(target.pid), before)
        self.assertEqual(processes.status_of(target.pid, waiting)["voluntary_ctxt_switches"],
                         switches)

    def test_a_shell_that_reads_a_line(self):
        target, tag = self.launch(["bash", "-c", "read line; echo \"got $line\""])
        processes.wait_for(lambda: processes.state(target.pid) == "S", "the shell to read")
        before = processes.facts(target.pid)
        profile = self.attach(target.pid, "--duration=300ms")
        self.assertEqual(processes.facts(target.pid), before)
        self.assertEqual(profile["sampling"]["instructions"], 0)
        target.stdin.write(b"a line\n")
        done = self.end(target, tag)
        self.assertEqual((done.code, done.stdout), (0, b"got a line\n"))

    def test_a_stopped_process_stays_stopped(self):
        target, tag = self.launch_busy()
        os.kill(target.pid, signal.SIGSTOP)
        processes.wait_for(lambda: processes.state(target.pid) == "T", "the stop")
        before = processes.facts(target.pid)
        profile = self.attach(target.pid, "--duration=500ms")
        self.assertEqual(processes.state(target.pid), "T")
        self.assertEqual(processes.facts(target.pid), before)
        self.assertEqual(profile["sampling"]["instructions"], 0)
        os.kill(target.pid, signal.SIGCONT)
        self.end_busy(target, tag)

    def test_one_that_is_stopped_meanwhile_is_left_stopped(self):
        target, tag = self.launch_busy()
        before = processes.settled_facts(target.pid)
        process, attach_tag = self.start(
            [SHADOWPROF, "attach", "-q", "-o", self.profile_path, "--duration=2s",
             str(target.pid)])
        processes.wait_for(lambda: processes.tracer(target.pid) != 0, "the attach")
        time.sleep(0.5)
        os.kill(target.pid, signal.SIGSTOP)
        self.assertEqual(self.finish(process, attach_tag).code, 0)
        self.assertEqual(processes.state(target.pid), "T")
        self.assertEqual(processes.facts(target.pid), before)
        os.kill(target.pid, signal.SIGCONT)
        self.end_busy(target, tag)


# Starts a command in a group of its own, as shells do, and prints its process id. The kernel ignores
# SIGTSTP for a group without a parent in its session.
IN_A_GROUP = """
import os, sys
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


class Pause(Attach):
    """A user stops shadowprof by Ctrl-Z."""

    def attach_in_a_group(self, pid):
        """Returns the starter, its tag, and the process id of shadowprof."""
        for name in ("ctl", "ack"):
            os.mkfifo(self.folder / name)
        starter, tag = self.start(
            [sys.executable, "-c", IN_A_GROUP, SHADOWPROF, "attach", "-q", DENSE, "-o",
             self.profile_path, "--control=fifo:ctl,ack", str(pid)], stdout=subprocess.PIPE)
        self.addCleanup(self._kill_all, starter.pid, tag)
        return starter, tag, int(starter.stdout.readline())

    def wait_until_computes(self, pid, seconds):
        before = processes.cpu_seconds(pid)
        processes.wait_for(lambda: processes.cpu_seconds(pid) > before + seconds, "it to compute")

    def wait_until_obeyed(self, commands, answers):
        """Returns when all is obeyed that shadowprof was asked for before."""
        commands.write("ping\n")
        commands.flush()
        self.assertEqual(answers.readline(), "ack\n")

    def test_the_target_goes_on_and_no_sample_is_taken(self):
        target, tag = self.launch_busy()
        before = processes.settled_facts(target.pid)
        starter, attach_tag, shadowprof = self.attach_in_a_group(target.pid)
        with open(self.folder / "ack", encoding="utf-8") as answers, \
                open(self.folder / "ctl", "w", encoding="utf-8") as commands:
            for _ in range(2):
                self.wait_until_obeyed(commands, answers)
                os.killpg(shadowprof, signal.SIGTSTP)
                processes.wait_for(lambda: processes.state(shadowprof) == "T", "it to stop")
                self.wait_until_obeyed(commands, answers)
                self.wait_until_computes(target.pid, 0.3)
                os.killpg(shadowprof, signal.SIGCONT)
                processes.wait_for(lambda: processes.state(shadowprof) == "S", "it to go on")
                self.wait_until_obeyed(commands, answers)
                self.wait_until_computes(target.pid, 0.1)
            os.kill(shadowprof, signal.SIGINT)
            self.assertEqual(self.finish(starter, attach_tag).code, 0)
        self.assertEqual(processes.facts(target.pid), before)
        self.end_busy(target, tag)
        profile = self.read_profile()
        changes = profile["sampling"]["changes"]
        self.assertEqual([change["what"] for change in changes], ["SIGTSTP", "SIGCONT"] * 2)
        self.assertEqual(profile["timeline"]["stride"], 1)
        for stopped, went_on in zip(changes[::2], changes[1::2]):
            # One that had begun may still be found not to count.
            self.assertEqual([start for start in profile["timeline"]["samples"]["start_us"]
                              if stopped["seconds"] < start / 1e6 < went_on["seconds"]], [])


class Refused(Attach):
    def refuse(self, mentions, *words, command=(SHADOWPROF,), **options):
        done = self.run_command([*command, "attach", "-o", self.profile_path, *map(str, words)],
                                **options)
        self.assertEqual((done.code, done.stdout), (OWN_FAILURE, b""), done.stderr)
        for mention in mentions:
            self.assertIn(mention, done.stderr)
        for line in done.stderr.splitlines():
            self.assertTrue(line.startswith("shadowprof: "), line)
        self.assertFalse(self.profile_path.exists())

    def test_what_is_no_process_id(self):
        for word in ("0", "abc", "1.5", "12x", "4294967297", "0x10", ""):
            with self.subTest(word=word):
                self.refuse([f"'{word}'", "id of a running process", "from 1 to"], word)
        self.refuse(["no process"])
        self.refuse(["second argument", "'2'"], "1", "2")
        self.refuse(["'-5'"], "-5")
        self.refuse(["'--durations'", "'--duration'"], "--durations=1s", "1")

    def test_what_only_a_run_can_have(self):
        self.refuse(["--mode=exact", "from its start"], "--mode=exact", os.getpid())

    def test_options_may_follow_the_process_id(self):
        target, _ = self.launch_busy()
        done = self.shadowprof("attach", target.pid, "--max-samples=1", "-q", "-o",
                               self.profile_path)
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.read_profile()

    def test_no_such_process(self):
        self.refuse(["no such process"], 0x3fffffff)

    def test_a_zombie(self):
        target = subprocess.Popen(["true"])
        self.addCleanup(target.wait)
        processes.wait_for(lambda: processes.state(target.pid) == "Z", "its end")
        self.refuse(["zombie"], target.pid)

    def test_a_kernel_thread(self):
        if not pathlib.Path("/proc/2/exe").is_symlink() or processes.status_of(2)["Name"] != \
                "kthreadd":
            self.skipTest("no kernel threads are visible here")
        self.refuse(["kernel thread"], 2)

    def test_itself(self):
        self.refuse(["itself"], "$$", command=("sh", "-c", f'exec {SHADOWPROF} "$1" "$2" "$3" $$',
                                               "sh"))

    def test_one_that_is_traced_already(self):
        target, _ = self.launch_busy()
        first, tag = self.start([SHADOWPROF, "attach", "-q", "-o", "/dev/null", str(target.pid)])
        processes.wait_for(lambda: processes.tracer(target.pid) != 0, "the first attach")
        tracer, = processes.children(first.pid)
        self.refuse([f"process {tracer} traces it"], target.pid)
        os.kill(first.pid, signal.SIGINT)
        self.assertEqual(self.finish(first, tag).code, 0)

    def test_a_thread_that_is_no_process(self):
        target, _ = self.launch_busy(2)
        self.refuse([f"thread of process {target.pid}"], processes.other_threads(target.pid)[-1])

    def test_a_program_of_32_bits(self):
        """A whole i386 program: its entry calls pause() for ever."""
        import struct
        code = bytes.fromhex("b81d000000" "cd80" "ebf7")  # mov eax, 29; int 0x80; jmp
        base, headers = 0x08048000, 52 + 32
        header = b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + struct.pack(
            "<HHIIIIIHHHHHH", 2, 3, 1, base + headers, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        segment = struct.pack("<IIIIIIII", 1, 0, base, base, headers + len(code),
                              headers + len(code), 5, 4096)
        path = self.folder / "i386"
        path.write_bytes(header + segment + code)
        path.chmod(0o755)
        try:
            target, _ = self.launch([str(path)])
        except OSError as error:
            self.skipTest(f"this kernel runs no 32-bit programs: {error}")
        self.wait_until_runs(target.pid, path)
        self.refuse(["64-bit"], target.pid)

    def as_somebody(self):
        """Returns a copy of shadowprof that other users can execute, in a folder where they can
        write."""
        if os.geteuid() != 0:
            self.skipTest("needs root to become another user")
        self.folder.chmod(0o777)
        return shutil.copy(SHADOWPROF, self.folder / "shadowprof")

    def test_a_process_of_another_user(self):
        program = self.as_somebody()
        self.refuse(["belongs to user 0", "as root"], os.getpid(), command=(program,), **NOBODY)

    def test_without_the_capability(self):
        program = self.as_somebody()
        if shutil.which("setpriv") is None:
            self.skipTest("needs setpriv")
        self.refuse(["CAP_SYS_PTRACE", "--cap-add"], os.getpid(),
                    command=("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace",
                             program))

    def test_an_ordinary_user_may_attach_to_what_is_his(self):
        program = self.as_somebody()
        busy = shutil.copy(victim("checksum"), self.folder / "busy")
        target, _ = self.launch_busy(program=busy, **NOBODY)
        os.unlink(busy)
        profile = self.attach_until_seen(target.pid, program=program, **NOBODY)
        self.assertEqual(next(iter(hot_functions(profile))), ("run", "busy"))
        self.assertEqual(processes.tracer(target.pid), 0)


del Attach  # unittest would run it as well

if __name__ == "__main__":
    main()
