"""Exact mode and verify: counts are the truth itself, and differences that are unavoidable are
reported."""

import ctypes
import errno
import os
import shutil
import signal
import struct
import subprocess
import time

import processes
from harness import SHADOWPROF, TestCase, main, read_symbols, victim

# The start value of the generator in edges.c.
SEED = 0x9e3779b97f4a7c15
# The address of a position-independent program without address space layout randomisation.
PIE_BASE = 0x555555554000


PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
SECCOMP_MODE_FILTER = 2
SYS_PERSONALITY = 135


def programs_set_segment_bases():
    """Whether WRFSBASE and WRGSBASE may be used: the bit of FSGSBASE in AT_HWCAP2."""
    at_hwcap2, fsgsbase = 26, 2
    auxiliary = open("/proc/self/auxv", "rb").read()
    entries = dict(struct.iter_unpack("QQ", auxiliary))
    return bool(entries.get(at_hwcap2, 0) & fsgsbase)


def refuse_fixed_addresses():
    """Makes personality(2) fail with EPERM from now on, as in containers."""
    load, equal, give = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    refuse, allow = 0x00050000 | errno.EPERM, 0x7fff0000
    program = b"".join(struct.pack("HBBI", *each) for each in (
        (load, 0, 0, 0), (equal, 0, 1, SYS_PERSONALITY), (give, 0, 0, refuse), (give, 0, 0, allow)))
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                  (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0)):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def xorshift64(state):
    state ^= state << 13 & 0xffffffffffffffff
    state ^= state >> 7
    return state ^ (state << 17 & 0xffffffffffffffff)


class Exact(TestCase):
    def exact(self, *command, options=(), **more):
        done, profile = self.profile(*command, options=("--mode=exact", *options), **more)
        exact = profile["sampling"]["exact"]
        self.assertEqual(profile["sampling"]["mode"], "exact")
        self.assertGreater(exact["intervals"], 0)
        return done, profile, exact

    def covered(self, *command, **more):
        """Returns an exact profile that covers the whole run and did not diverge."""
        done, profile, exact = self.exact(*command, **more)
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(exact["diverged"], 0, profile["notes"])
        self.assertEqual(exact["excluded"], {})
        self.assertIsNone(exact["stopped_early"])
        sampling = profile["sampling"]
        self.assertEqual(sampling["target_instructions"], sampling["instructions"])
        return profile

    def test_edges_calls_and_stacks_are_the_truth(self):
        eights = 1250
        rounds = 8 * eights
        seen = self.covered(victim("edges"), str(eights), module=victim("edges"))
        taken, state = 0, SEED
        for _ in range(rounds):
            state = xorshift64(state)
            taken += state & 0xff < 192
        truth = {("edges_periodic", "edges_periodic_taken"): 6 * eights,
                 ("edges_periodic", "edges_periodic_not"): 2 * eights,
                 ("edges_random", "edges_random_taken"): taken,
                 ("edges_random", "edges_random_not"): rounds - taken,
                 ("edges_switch", "edges_case0"): 4 * eights,
                 ("edges_switch", "edges_case1"): 2 * eights,
                 ("edges_switch", "edges_case2"): eights,
                 ("edges_switch", "edges_case3"): eights,
                 ("edges_call", "edges_leaf"): rounds,
                 ("edges_leaf_return", "edges_after_call"): rounds,
                 ("edges_indirect_call", "edges_odd"): 4 * eights,
                 ("edges_indirect_call", "edges_even"): 4 * eights,
                 ("edges_back", "edges_loop"): rounds - 1,
                 ("edges_back", "edges_leave"): 1}
        counts = seen.edge_counts()
        for (source, target), count in truth.items():
            with self.subTest(edge=f"{source} to {target}"):
                self.assertEqual(counts.get((seen.symbols[source], target), 0), count)
        pairs = {(seen.name(call["site"]), seen.name(call["callee"])): call["count"]
                 for call in seen["calls"]}
        self.assertEqual(pairs["edges_call", "edges_leaf"], rounds)
        inside = {}
        for stack in seen["stacks"]:
            function = seen.locations[stack["frames"][-1]].get("function")
            inside[function] = inside.get(function, 0) + stack["instructions"]
        self.assertEqual(inside["edges_leaf"], 2 * rounds)
        self.assertEqual(inside["edges_odd"] + inside["edges_even"], 2 * rounds)

    def test_wherever_a_program_lies(self):
        """Covers programs that are linked in any way, and ones that reserve much of their
        address space. Another test covers programs that are linked low and reserve more than
        fits beside a worker."""
        programs = [("layout", 1), ("layout_static_pie", 1), ("layout_no_pie", 1),
                    ("layout_static", 1)]
        # If guests have their native addresses, those that reserve most of the address space
        # overlap with workers.
        if programs_set_segment_bases():
            programs += [("layout", 30_000), ("layout_static_pie", 16_384)]
        for name, gibibytes in programs:
            with self.subTest(program=name, gibibytes=gibibytes):
                self.covered(victim(name), str(gibibytes), module=victim(name))

    def test_no_room_is_said(self):
        done, profile, exact = self.exact(victim("layout_no_pie"), "60000")
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(exact["diverged"], 0)
        self.assertIn("no room", exact["stopped_early"])
        self.assertTrue(any("no room" in note for note in profile["notes"]), profile["notes"])

    def test_addresses_that_are_not_fixed_are_said(self):
        random = "addresses are random"
        profile = self.covered(victim("edges"), "100")
        self.assertFalse([note for note in profile["notes"] if random in note])
        profile = self.covered(victim("edges"), "100", preexec_fn=refuse_fixed_addresses)
        self.assertTrue([note for note in profile["notes"] if random in note], profile["notes"])

    def test_paths_are_the_truth(self):
        eights = 1000
        seen = self.covered(victim("paths"), str(eights), module=victim("paths"))
        found = {}
        for path in seen["paths"]:
            blocks = tuple(seen.name(block) for block in path["blocks"])
            found[blocks] = found.get(blocks, 0) + path["count"]
        short = found["paths_loop", "paths_short", "paths_join"]
        long = {end: found["paths_loop", "paths_long", "paths_callee", end, "paths_after_call",
                           "paths_join"] for end in ("paths_low", "paths_high")}
        # The first iteration's path begins before the loop, the last one's ends behind it.
        total = short + sum(long.values())
        self.assertLessEqual(8 * eights - total, 2)
        for count, rate in ((short, 6), (long["paths_low"], 1), (long["paths_high"], 1)):
            self.assertLessEqual(abs(count - rate * eights), 1)

    def test_every_value_is_recorded_if_values_are_asked_for(self):
        fours = 5000
        seen = self.covered(victim("values"), str(fours), module=victim("values"),
                            options=("--profiles=all",))
        for label, operand in (("values_load", "edx"), ("values_constant", "r8"),
                               ("values_counter", "r9"), ("values_byte", "r11b")):
            with self.subTest(label=label):
                self.assertEqual(seen.value(label, operand)["count"], 4 * fours)
        constant = seen.value("values_constant", "r8")
        self.assertEqual([top["value"] for top in constant["top"]], ["0x2a"])

    def test_values_are_left_out_otherwise(self):
        self.assertEqual(self.covered(victim("edges"), "10")["values"], [])

    def test_instruction_counts_repeat(self):
        commands = [([victim("edges"), "100"], 10)]
        if shutil.which("gzip"):
            commands.append((["gzip", "-c", victim("edges")], 3))
        for command, runs in commands:
            counts = {self.covered(*command)["sampling"]["instructions"] for _ in range(runs)}
            self.assertEqual(len(counts), 1, f"{command}: {counts}")

    def test_signal_ends_an_interval_and_nothing_diverges(self):
        process, tag = self.start([SHADOWPROF, "run", "-q", "--mode=exact", "-o",
                                   self.profile_path, "--", victim("interrupted"), "count"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        done = self.finish(process, tag)
        self.assertEqual(done.code, 41, done.stderr)
        exact = self.read_profile()["sampling"]["exact"]
        self.assertEqual(exact["diverged"], 0)
        self.assertEqual(exact["signals"], 1)

    def test_interrupt_that_kills_the_program_leaves_a_profile(self):
        process, tag = self.start([SHADOWPROF, "run", "-q", "--mode=exact", "-o",
                                   self.profile_path, "--", victim("interrupted")],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")

        def seconds():
            return sum(map(processes.cpu_seconds, processes.descendants(process.pid)))

        start = seconds()
        processes.wait_for(lambda: seconds() > start + 0.3, "it to be emulated")
        os.killpg(process.pid, signal.SIGINT)
        done = self.finish(process, tag)
        self.assertEqual(done.code, -signal.SIGINT)
        self.assertGreater(self.read_profile()["sampling"]["instructions"], 1_000_000)

    def test_threads_are_covered(self):
        """Every thread's edges count, and the profile says what each has executed."""
        seen = self.covered(victim("threads"), "3", "5", module=victim("threads"))
        steps = {"thread_odd": 1 * 5, "thread_even": 2 * 5, "thread_short": 5}
        pairs = {}
        for call in seen["calls"]:
            callee = seen.name(call["callee"])
            pairs[callee] = pairs.get(callee, 0) + call["count"]
        for function, count in steps.items():
            with self.subTest(function=function):
                self.assertEqual(pairs.get(function, 0), count)
        threads = seen["threads"]
        # The first one, three workers, and one that lives for a moment in each round.
        self.assertEqual(len(threads), 1 + 3 + 5)
        self.assertEqual(sum(thread["instructions"] for thread in threads),
                         seen["sampling"]["instructions"])
        self.assertEqual(len({thread["tid"] for thread in threads}), len(threads))
        self.assertEqual({thread["pid"] for thread in threads}, {min(t["tid"] for t in threads)})

    def test_counts_of_threads_repeat(self):
        """Those of threads that meet by locks and by memory alone; and another seed may give
        another order."""
        for way in ("locks", "spinning", "pipes"):
            with self.subTest(way=way):
                runs = [self.covered(victim("meeting"), way) for _ in range(4)]
                counts = {run["sampling"]["instructions"] for run in runs}
                if way != "pipes":
                    self.assertEqual(len(counts), 1, counts)
        other = self.covered(victim("meeting"), "spinning", options=("--seed=77",))
        self.assertNotIn(other["sampling"]["instructions"], counts)

    def test_threads_that_end_in_any_order(self):
        """The first thread ends before the others, and perhaps another takes its place; a signal
        comes to one that executes or sleeps; and the process ends while one sleeps or computes."""
        for way in ("first_ends", "first_is_replaced", "signalled", "woken", "exits",
                    "second_exits"):
            plain = self.run_command([victim("meeting"), way])
            for check in (0, 99):
                with self.subTest(way=way, check=check):
                    done, profile, exact = self.exact(victim("meeting"), way,
                                                      options=(f"--check={check}",))
                    self.assertEqual((done.code, done.stdout), (plain.code, plain.stdout),
                                     done.stderr)
                    self.assertEqual(exact["diverged"], 0)
                    self.assertIsNone(exact["stopped_early"])

    def test_program_of_several_threads_that_executes_another_goes_on(self):
        done, profile, exact = self.exact(victim("meeting"), "executes")
        self.assertEqual((done.code, done.stdout), (0, b"ok\n"), done.stderr)
        self.assertIn("executes another program", exact["stopped_early"])
        self.assertIn("not covered: it executes another program", done.stderr + str(profile["notes"]))

    def test_system_calls_have_their_effects(self):
        for name in ("plain", "exact"):
            (self.folder / name).mkdir()
        plain = self.run_command([victim("effects"), self.folder / "plain", "200"])
        done, _, exact = self.exact(victim("effects"), self.folder / "exact", "200")
        self.assertEqual((plain.code, done.code, done.stdout), (0, 0, plain.stdout), done.stderr)
        self.assertIn(b"each once", done.stdout)
        self.assertEqual(exact["diverged"], 0)

    def test_children_are_left_alone(self):
        command = [victim("children"), "10"]
        plain = self.run_command(command)
        done, _, exact = self.exact(*command)
        self.assertEqual((done.code, done.stdout), (plain.code, plain.stdout))
        self.assertEqual(exact["diverged"], 0)

    def test_memory_that_others_write_to_is_seen(self):
        done, _, exact = self.exact(victim("foreign"))
        self.assertEqual(done.stdout, b"foreign: changed\n")
        self.assertEqual(exact["diverged"], 0)
        # Without the right to open such memory, the program goes on by itself.
        self.assertIn("cannot be opened here",
                      exact["stopped_early"] or "cannot be opened here")

    def test_intervals_are_compared_with_the_hardware(self):
        counts = set()
        for check in ("--check=0", "--check=100%"):
            _, profile, exact = self.exact("sha256sum", SHADOWPROF, options=(check,))
            counts.add(profile["sampling"]["instructions"])
            self.assertEqual(exact["diverged"], 0, profile["notes"])
            self.assertEqual(exact["compared"] > 0, check != "--check=0")
        self.assertEqual(len(counts), 1, "a check changes what is counted")

    def test_options_of_sampling_are_refused(self):
        for option in ("--load=1", "--delay=1s", "--duration=1s", "--max-samples=3",
                       "--until-converged"):
            done = self.shadowprof("run", "--mode=exact", option, "--", "true")
            self.assertEqual(done.code, 125)
            self.assertIn("--mode=exact", done.stderr)


class Verify(TestCase):
    def verify(self, *words):
        done = self.shadowprof("verify", *words)
        return done.code, done.stderr

    def test_proven_program(self):
        code, text = self.verify("--", victim("edges"), "1000")
        self.assertEqual(code, 0, text)
        self.assertIn(" 0 diverged", text)

    def test_divergence(self):
        code, text = self.verify("--", victim("foreign"))
        self.assertEqual(code, 1, text)
        self.assertNotIn(" 0 diverged", text)

    def test_clock_pages_are_left_to_the_hardware(self):
        code, text = self.verify("--", victim("foreign"), "clock")
        self.assertEqual(code, 0, text)

    def test_not_to_the_end_is_no_proof(self):
        code, text = self.verify("--", victim("checksum"), "2", "20", "1")
        self.assertEqual(code, 1, text)
        self.assertIn("not verified to the end: it started a second thread", text)

    def test_limit_that_was_asked_for_is_a_proof(self):
        code, text = self.verify("--max-instructions=100k", "--", victim("edges"), "100")
        self.assertEqual(code, 0, text)
        self.assertIn("not verified to the end: the limit", text)

    def assert_found(self, text, address, instruction):
        found = text.partition("first wrong instruction")[2]
        self.assertIn(f"{address:#x} ", found, text)
        self.assertIn(instruction, found)
        self.assertIn("native 0x", found)
        self.assertIn("emulated 0x", found)

    def test_fault_is_narrowed_down_to_its_instruction(self):
        """The emulator sees `add $11, %rax` as `add $10, %rax`. Far before it in the interval,
        and behind it, everything is right."""
        address = PIE_BASE + read_symbols(victim("edges"))["edges_case1"]
        for rounds in ("10", "2000"):
            code, text = self.verify("--narrow", f"--fault={address + 3:#x}", "--",
                                     victim("edges"), rounds)
            self.assertEqual(code, 1, text)
            self.assert_found(text, address, "add rax, 0x0B")

    def test_fault_behind_a_long_loop(self):
        """The emulator sees `pop %r12` as `pop %r13`, behind the whole loop."""
        address = PIE_BASE + read_symbols(victim("edges"))["edges_leave"]
        code, text = self.verify("--narrow", f"--fault={address + 1:#x}", "--", victim("edges"),
                                 "2000")
        self.assertEqual(code, 1, text)
        self.assert_found(text, address, "pop r12")


if __name__ == "__main__":
    main()
