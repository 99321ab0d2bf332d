"""Bursts by counts of events, and changes that users make during a run."""

import contextlib
import json
import os
import signal
import subprocess

import bounds
import processes
from harness import SHADOWPROF, TestCase, main, victim, whole

# Events of one round of the loop in edges.S: two calls and a back-edge.
ROUND_EVENTS = 3
PERIOD_EVENTS = 8 * ROUND_EVENTS
# The programs' arguments.
WORK = {"edges": 30_000_000, "paths": 300_000_000, "values": 120_000_000}


class Bursts(TestCase):
    def in_bursts(self, program, *options, arguments=(), least=5):
        """Returns a profile with bursts whose stacks have all instructions. It has at least
        `least` whole samples, unless the program's arguments are given."""
        def command(factor):
            return victim(program), *(arguments or [str(WORK[program] * factor)])

        done, profile = self.profile_until(
            lambda profile: arguments or whole(profile) >= least,
            command, module=victim(program), options=options)
        self.assertEqual(done.code, 0, done.stderr)
        sampling = profile["sampling"]
        instructions = [stack["instructions"] for stack in profile["stacks"]]
        # Scaled counts are rounded.
        self.assertLessEqual(abs(sum(instructions) - sampling["instructions"]), len(instructions))
        return profile, sampling["bursts"]

    def assert_share(self, bursts, kind, every):
        """Checks that the share of events in bursts is as requested: each burst has its length,
        and distances are between half and one and a half of `every`."""
        lengths = bursts["lengths"]
        longest = max(lengths[kind] for kind in ("edge", "path", "call"))
        share = lengths[kind] / (longest + every)
        part = bursts["events_in_bursts"][kind]
        # A distance's standard deviation is every / sqrt(12). Samples begin and end anywhere.
        number = bursts["events_counted"] / (longest + every)
        off = lengths[kind] * (bounds.SIGMAS * (number / 12) ** 0.5 + self.parts)
        self.assertLessEqual(abs(part - share * bursts["events_counted"]), off, kind)

    def test_edges_of_whole_periods_have_their_proportions(self):
        """A burst holds a period of the loop: its counts are the truth itself, except in the
        bursts that samples cut off at both ends."""
        every = 500
        lengths = f"edge:{PERIOD_EVENTS},call:{PERIOD_EVENTS}"
        profile, bursts = self.in_bursts("edges", f"--every={every}", f"--burst-length={lengths}")
        self.assert_sampled_well(profile)
        self.parts = 2 * profile.samples
        self.assert_share(bursts, "edge", every)
        self.assert_share(bursts, "call", every)
        self.assert_share(bursts, "path", every)
        edges = profile.edge_counts()

        def edge(source, target):
            return edges.get((profile.symbols[source], target), 0)

        counts = [(edge("edges_back", "edges_loop"), 8),
                  (edge("edges_periodic", "edges_periodic_taken"), 6),
                  (edge("edges_periodic", "edges_periodic_not"), 2),
                  (edge("edges_call", "edges_leaf"), 8),
                  (edge("edges_leaf_return", "edges_after_call"), 8),
                  (edge("edges_indirect_call", "edges_odd"), 4),
                  *((edge("edges_switch", f"edges_case{i}"), rate)
                    for i, rate in ((0, 4), (1, 2), (2, 1), (3, 1)))]
        first, first_rate = counts[0]
        self.assertGreater(first, 0)
        for count, rate in counts[1:]:
            self.assertLessEqual(abs(count * first_rate - first * rate),
                                 bounds.periodic(2 * profile.samples, 8) * first_rate)
        pairs = {(profile.name(call["site"]), profile.name(call["callee"])): call["count"]
                 for call in profile["calls"]}
        self.assertEqual(pairs["edges_call", "edges_leaf"], edge("edges_call", "edges_leaf"))

    def test_a_kind_has_a_frequency_of_its_own(self):
        profile, bursts = self.in_bursts("edges", "--every=100,call:2000", "--burst-length=edge:4")
        self.parts = 2 * profile.samples
        self.assert_share(bursts, "edge", 100)
        self.assert_share(bursts, "path", 100)
        calls, events = bursts["events_in_bursts"]["call"], bursts["events_counted"]
        number = events / 2001
        self.assertLessEqual(abs(calls - number),
                             bounds.SIGMAS * (number / 12) ** 0.5 + 2 * profile.samples)

    def test_bursts_of_one_event_see_everything_in_proportion(self):
        every = 100
        profile, bursts = self.in_bursts("edges", f"--every={every}")
        self.assertEqual(bursts["lengths"]["edge"], 1)
        self.parts = 2 * profile.samples
        self.assert_share(bursts, "edge", every)
        edges = profile.edge_counts()
        taken = edges[profile.symbols["edges_random"], "edges_random_taken"]
        executions = taken + edges[profile.symbols["edges_random"], "edges_random_not"]
        self.assertGreater(executions, 0)
        self.assertLessEqual(abs(taken - 0.75 * executions), bounds.binomial(executions, 0.75))
        # Each round has three events, and a burst is equally likely to begin at each of them.
        back = edges[profile.symbols["edges_back"], "edges_loop"]
        leaf = edges[profile.symbols["edges_call"], "edges_leaf"]
        self.assertLessEqual(abs(back - leaf), bounds.binomial(back + leaf, 0.5))

    def test_paths_are_followed_to_their_ends(self):
        """Some of the loop's paths make one event and some two. Each path is seen as often as it
        begins in a burst, however long it is."""
        profile, _ = self.in_bursts("paths", "--every=100", "--burst-length=path:3")
        counts = {}
        for path in profile["paths"]:
            names = tuple(profile.name(block) for block in path["blocks"])
            if names[0] == "paths_loop" and names[-1] == "paths_join":
                counts["paths_callee" in names] = counts.get("paths_callee" in names, 0) \
                    + path["count"]
        executions = sum(counts.values())
        self.assertGreater(executions, 0)
        self.assertLessEqual(abs(counts[True] - executions / 4),
                             3 * bounds.binomial(executions, 0.25))

    def test_values_are_right(self):
        every, length = 100, 10
        profile, bursts = self.in_bursts("values", f"--every={every}",
                                         f"--burst-length=value:{length}", "--profiles=value")
        self.assertEqual(bursts["lengths"], {"value": length})
        self.assertGreater(bursts["bursts"], 0)
        self.assertEqual(bursts["bursts_by_kind"], {"value": bursts["bursts"]})
        constant = profile.value("values_constant", "r8")
        self.assertEqual({int(top["value"], 16) for top in constant["top"]}, {42})
        load = profile.value("values_load", "edx")
        top = {int(value["value"], 16): (value["count"], value["error"]) for value in load["top"]}
        for value, share in ((7, 717 / 1024), (9, 205 / 1024)):
            count, error = top[value]
            self.assertLessEqual(abs(count - share * load["count"]),
                                 bounds.binomial(load["count"], share, error))
        # About as many rounds have values as requested, because the emulator counts events in its
        # records. Each event is a round of this loop or of the model's, which also has values in
        # each.
        model = max((value["count"] for value in profile["values"]
                     if not self.is_in_loop(profile, value["at"])), default=0)
        share = (constant["count"] + model) / bursts["events_counted"]
        self.assertGreater(share, 0.5 * length / (length + every))
        self.assertLess(share, 2 * length / (length + every))

    def test_values_and_references_of_exact_mode_are_in_proportion(self):
        """With bursts, one run can trace both. Bursts begin anew behind an interval that is
        compared, and when that is depends on the time."""
        every, length, argument = 2000, 200, 100_000
        def seen(seed):
            profile, _ = self.in_bursts(
                "values", "--mode=exact", "--check=0", f"--every={every}",
                "--profiles=value,hazard", f"--burst-length=value:{length},hazard:{length}",
                f"--seed={seed}",
                arguments=[str(argument)])
            return profile

        profile = seen(1)
        constant = profile.value("values_constant", "r8")
        self.assertEqual({int(top["value"], 16) for top in constant["top"]}, {42})
        load = next(entry for entry in profile["addresses"]
                    if profile.name(entry["at"]) == "values_load")
        # A period has a distance and a burst of each kind. The victim makes 4 rounds for each unit
        # of its argument.
        share = length / (every + 2 * length)
        for count in (constant["count"], load["count"]):
            self.assertLess(abs(count / (4 * argument) - share), share / 10)
        # Code around the loop handles random numbers, such as the stack protector's.
        self.assertEqual(self.values_in_loop(seen(1)), self.values_in_loop(profile))
        self.assertNotEqual(self.values_in_loop(seen(2)), self.values_in_loop(profile))

    def values_in_loop(self, profile):
        return {(profile.locations[value["at"]]["address"], value["operand"]): value["top"]
                for value in profile["values"] if self.is_in_loop(profile, value["at"])}

    def is_in_loop(self, profile, location):
        first, last = (profile.symbols[label] for label in ("values_run", "values_leave"))
        place = profile.locations[location]
        return place["module"] == profile.module and first <= int(place["address"], 16) <= last

    def test_bursts_of_all_kinds_are_counted(self):
        """Hazards and streams share their bursts, which are counted once."""
        profile, bursts = self.in_bursts("values", "--mode=exact", "--every=100,value:1000",
                                         "--profiles=edge,path,call,value,hazard,stream",
                                         "--burst-length=stream:50", arguments=["200000"])
        kinds = {"edge", "path", "call", "value", "hazard", "stream"}
        for by_kind in ("lengths", "bursts_by_kind", "events_in_bursts"):
            self.assertEqual(set(bursts[by_kind]), kinds)
        self.assertEqual(bursts["own_every"], {"value": 1000})
        by_kind = bursts["bursts_by_kind"]
        self.assertGreater(min(by_kind.values()), 0)
        self.assertEqual(by_kind["hazard"], by_kind["stream"])
        self.assertEqual(bursts["bursts"], by_kind["edge"] + by_kind["value"] + by_kind["stream"])
        for kind, events in bursts["events_in_bursts"].items():
            self.assertGreater(events, 0, kind)
            self.assertLess(events, bursts["events_counted"], kind)

    def test_exact_mode_repeats_by_its_seed(self):
        def counts(seed):
            profile, bursts = self.in_bursts("edges", "--mode=exact", "--every=50",
                                             f"--seed={seed}", arguments=["2000"])
            return profile["edges"], profile["paths"], profile["calls"], bursts

        first = counts(1)
        self.assertEqual(counts(1), first)
        self.assertNotEqual(counts(2), first)

    def test_other_kinds_are_not_collected(self):
        profile, bursts = self.in_bursts("edges", "--every=50", "--profiles=call",
                                         "--max-samples=5", least=1)
        for by_kind in ("lengths", "bursts_by_kind", "events_in_bursts"):
            self.assertEqual(list(bursts[by_kind]), ["call"])
        self.assertGreater(len(profile["calls"]), 0)
        for kind in ("edges", "paths", "values"):
            self.assertEqual(profile[kind], [])


def catches_sigterm(pid):
    return int(processes.status_of(pid)["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1


# The members that identify an entry of a list, and those that count.
LISTS = {"edges": (("from", "to", "kind"), ("count",)),
         "paths": (("blocks", "instructions"), ("count",)),
         "calls": (("site", "callee"), ("count",)),
         "stacks": (("frames",), ("instructions", "samples", "time_ns")),
         "values": (("at", "operand", "width"), ("count",)),
         "threads": (("pid", "tid", "name"), ("samples", "instructions"))}


def counts_of(profile):
    """Returns all counts, by what is counted. Locations are given by module and offset."""
    def place(number):
        location = profile["locations"][number]
        return profile["modules"][location["module"]]["path"], location["address"]

    def key(name, value):
        if name in ("from", "to", "site", "callee", "at"):
            return place(value)
        return tuple(map(place, value)) if name in ("frames", "blocks") else value

    found = {}
    for name, (names, counted) in LISTS.items():
        for entry in profile.get(name, []):
            of = (name, *(key(each, entry.get(each)) for each in names))
            found[of] = tuple(entry.get(each, 0) for each in counted)
    sampling = profile["sampling"]
    found["samples"] = sampling["samples"], sampling["instructions"], sampling["single_stepped"]
    found["ended"] = sampling["ended"]
    found["counters"] = {name: count for name, count in sampling["counters"].items() if count}
    found["overhead"] = tuple(profile["overhead"][each] for each in ("stops", "forks"))
    found["syscalls"] = profile["syscalls"]
    found["processes"] = tuple(profile["other_processes"][each] +
                               sum(process[each] for process in profile["processes"])
                               for each in ("samples", "instructions"))
    return found


class Phases(TestCase):
    """Tests --dump-every and dump-new."""

    def phases(self):
        return sorted(self.folder.glob("profile.[0-9][0-9][0-9][0-9].json"))

    def assert_adds_up(self, whole_profile):
        merged = self.folder / "merged.json"
        done = self.shadowprof("merge", "-o", merged, *self.phases())
        self.assertEqual(done.code, 0, done.stderr)
        merged = json.loads(merged.read_text())
        self.assert_valid(merged)
        expected, found = counts_of(whole_profile), counts_of(merged)
        self.assertEqual(found.keys() ^ expected.keys(), set())
        for of, counts in expected.items():
            self.assertEqual(found[of], counts, of)
        self.assertAlmostEqual(merged["run"]["seconds"], whole_profile["run"]["seconds"], 2)
        self.assertEqual(merged["run"]["started"], whole_profile["run"]["started"])

    def profile_of_phases(self, *command, options=()):
        for old in self.phases():
            old.unlink()
        done, profile = self.profile(*command, options=("--dump-every=100ms", *options))
        self.assertEqual((done.code, done.stderr), (0, ""))
        for path in self.phases():
            phase = json.loads(path.read_text())
            self.assert_valid(phase)
            is_last = path == self.phases()[-1]
            self.assertEqual(phase["run"]["exit"], profile["run"]["exit"] if is_last else {})
        return profile

    def test_phases_add_up_to_the_whole(self):
        for factor in (1, 4, 16, 64):
            profile = self.profile_of_phases(
                victim("values"), str(20_000_000 * factor),
                options=("--probe", "all: entry { count() by caller }"))
            if len(self.phases()) >= 4 and whole(profile) >= 10:
                break
        self.assertGreaterEqual(len(self.phases()), 2)
        self.assert_adds_up(profile.data)

    def test_phases_of_several_processes_add_up(self):
        work = f"for i in 1 2 3; do {victim('edges')} 500000; {victim('paths')} 5000000; done"
        profile = self.profile_of_phases("sh", "-c", work)
        self.assertGreaterEqual(len(self.phases()), 2)
        self.assert_adds_up(profile.data)

    def test_phases_of_a_short_run_are_one(self):
        profile = self.profile_of_phases("true")
        self.assertEqual([path.name for path in self.phases()][0], "profile.0001.json")
        self.assertEqual(profile["run"]["options"]["dump-every"], "100000us")

    def test_phases_of_a_profile_that_converges_add_up(self):
        """After convergence samples are eight times as far apart, so they weigh more."""
        profile = self.profile_of_phases(victim("edges"), "8000000",
                                         options=("--until-converged=50%", "--load=1"))
        self.assert_adds_up(profile.data)

    def test_bursts_of_phases_add_up(self):
        profile = self.profile_of_phases(victim("edges"), "3000000", options=("--every=1000",))
        self.assert_adds_up(profile.data)
        events = [json.loads(path.read_text())["sampling"]["bursts"]["events_counted"]
                  for path in self.phases()]
        self.assertEqual(sum(events), profile["sampling"]["bursts"]["events_counted"])

    def test_phases_of_an_attached_process_add_up(self):
        target, tag = self.start([victim("checksum"), "1", "0"], stdout=subprocess.PIPE)
        self.addCleanup(self._kill_all, target.pid, tag)
        processes.wait_for(lambda: catches_sigterm(target.pid), "the program's handler")
        done = self.shadowprof("attach", "-q", "-o", self.profile_path, "--dump-every=200ms",
                               "--load=0.5", "--duration=1s", target.pid)
        self.assertEqual((done.code, done.stderr), (0, ""))
        os.kill(target.pid, signal.SIGTERM)
        target_done = self.finish(target, tag)
        self.assertTrue(target_done.stdout.startswith(b"checksum: unharmed"), target_done.stdout)
        self.assert_adds_up(self.read_profile().data)

    def test_phases_that_cannot_be_written_are_told_and_come_with_the_next(self):
        (self.folder / "profile.0001.json").mkdir()
        done, profile = self.profile(victim("edges"), "3000000", options=("--dump-every=100ms",))
        self.assertEqual(done.code, 0)
        self.assertIn("profile.0001.json'", done.stderr)
        self.assertIn("name a file in it", done.stderr)
        (self.folder / "profile.0001.json").rmdir()
        if self.phases():
            self.assert_adds_up(profile.data)

    def test_phases_need_a_file(self):
        for output in ("-", "/dev/null"):
            done = self.shadowprof("run", "-o", output, "--dump-every=1s", "true")
            self.assertEqual(done.code, 125)
            self.assertIn("--dump-every needs a file", done.stderr)
            self.assertIn("-o", done.stderr)
        self.assertIn("100ms", self.shadowprof("run", "--dump-every=1ms", "true").stderr)


def whole_or_cut(profile):
    """Returns how many samples have finished or were cut off; those that were due while the
    program was idle do not count."""
    sampling = profile["sampling"]
    return sampling["samples"] - sampling["ended"].get("idle", 0)


class Control(TestCase):
    """Tests with a run, or an attached process, that lasts until it is told to end."""

    def setUp(self):
        super().setUp()
        for name in ("ctl", "ack"):
            os.mkfifo(self.folder / name)

    def begin(self, *options, control="fifo:ctl,ack",
              script="echo $$ >new && mv new pid && exec \"$0\" 1 0"):
        self.tracer, self.tag = self.start(
            [SHADOWPROF, "run", "-q", "-o", self.profile_path, f"--control={control}", *options,
             "--", "sh", "-c", script, victim("checksum")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self._kill_all, self.tracer.pid, self.tag)
        if control.endswith("ack"):
            self.answers = open(self.folder / "ack", encoding="utf-8")
            self.addCleanup(self.answers.close)
            self.commands = open(self.folder / "ctl", "w", encoding="utf-8")
            self.addCleanup(self.commands.close)
            self.ask("ping")

    def send(self, line):
        self.commands.write(line + "\n")
        self.commands.flush()
        return self.answers.readline()

    def ask(self, line):
        self.assertEqual(self.send(line), "ack\n", line)

    def wait_for_target(self):
        """Waits until the target would notice that it is told to end."""
        processes.wait_for((self.folder / "pid").exists, "the program")
        pid = int((self.folder / "pid").read_text())
        processes.wait_for(lambda: catches_sigterm(pid), "the program's handler")
        return pid

    def finish_script(self):
        return self.finish(self.tracer, self.tag), self.read_profile()

    def end(self, module=None):
        os.kill(self.wait_for_target(), signal.SIGTERM)
        done = self.finish(self.tracer, self.tag)
        self.assertEqual(done.code, 0, done.stderr)
        self.assertTrue(done.stdout.startswith(b"checksum: unharmed"), done.stdout)
        return done, self.read_profile(module)

    def switch_over(self):
        """Sends SIGUSR2, and returns when the next command will find it in effect."""
        os.kill(self.tracer.pid, signal.SIGUSR2)

        def is_handed_on():
            status = processes.status_of(self.tracer.pid)
            pending = int(status["ShdPnd"], 16) >> (signal.SIGUSR2 - 1) & 1
            return not pending and status["State"].startswith("S")

        processes.wait_for(is_handed_on, "the signal to be taken")

    def changes(self, profile):
        return [change["what"] for change in profile["sampling"].get("changes", [])]

    def test_commands_are_obeyed_and_noted(self):
        self.begin("--every=1000")
        self.ask("disable")
        self.ask("every 50calls")
        self.ask("burst-length edge:4,value:20")
        self.assertTrue(self.send("bogus \x1b[31m").startswith("error: the commands are enable"))
        self.assertTrue(self.send("every none").startswith("error: "))
        self.assertTrue(self.send("disavle").startswith("error: did you mean 'disable'? "))
        self.ask("enable")
        self.ask("stop")
        done, profile = self.end()
        self.assertEqual(self.changes(profile), ["disable", "every 50calls",
                                                 "burst-length edge:4,value:20", "enable", "stop"])
        changes = profile["sampling"]["changes"]
        self.assertEqual({change["samples"] for change in changes[:4]}, {changes[0]["samples"]},
                         "samples that began while none should")
        self.assertEqual(profile["sampling"]["bursts"]["every"], 1000)
        complaints = [line for line in done.stderr.splitlines() if "--control" in line]
        self.assertEqual(len(complaints), 1, done.stderr)
        self.assertIn("'bogus ?[31m'", complaints[0])

    def test_a_file_that_says_disable_lets_no_sample_begin(self):
        (self.folder / "file").write_text("disable\n")
        self.begin(control="file")
        _, profile = self.end()
        self.assertEqual(self.changes(profile), ["disable"])
        self.assertEqual(profile["sampling"]["samples"], 0)

    def test_what_is_enabled_again_is_sampled(self):
        (self.folder / "file").write_text("disable\nenable\n")
        done, profile = self.profile(victim("edges"), options=(f"--control={self.folder}/file",))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(self.changes(profile), ["disable", "enable"])
        self.assertGreater(profile["sampling"]["instructions"], 0)

    def test_values_that_are_switched_off_are_not_counted(self):
        (self.folder / "file").write_text("disable\nprofiles edge,path,call\nenable\n")
        done, profile = self.profile(victim("values"), options=(f"--control={self.folder}/file",))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(self.changes(profile), ["disable", "profiles edge,path,call", "enable"])
        self.assertGreater(profile["sampling"]["instructions"], 0)
        self.assertEqual(profile["values"], [])

    def test_a_budget_and_a_load_are_changed(self):
        self.begin("--load=0.5")
        self.ask("budget 2%")
        self.ask("load 3")
        self.ask("budget 50")
        for line in ("budget 0", "load many", "profiles edge"):
            self.assertTrue(self.send(line).startswith("error: "), line)
        self.ask("stop")
        _, profile = self.end()
        self.assertEqual(self.changes(profile), ["budget 2%", "load 3", "budget 50", "stop"])
        self.assertEqual(profile["overhead"]["budget_percent"], 0)

    def read_dump(self, name):
        data = json.loads((self.folder / name).read_text())
        self.assert_valid(data)
        return data

    def test_a_dump_is_what_was_seen_until_now(self):
        self.begin(script=f"while ! [ -e end ]; do {victim('edges')} 3000000 >/dev/null; done")

        def dump(name):
            self.ask(f"dump {name}")
            return self.read_dump(name)

        processes.wait_for(lambda: dump("a.json")["sampling"]["instructions"], "a sample")
        first = dump("a.json")
        self.assertTrue((self.folder / "a.json.old").exists())
        processes.wait_for(lambda: dump("b b.json")["sampling"]["samples"] >
                           first["sampling"]["samples"], "another sample")
        second = dump("b b.json")
        self.assertTrue(any("function" in location for location in second["locations"]))
        self.assertEqual(second["run"]["exit"], {})
        self.ask("stop")
        (self.folder / "end").touch()
        done, profile = self.finish_script()
        self.assertEqual(done.code, 0, done.stderr)
        for earlier, later in ((first, second), (second, profile)):
            self.assertLessEqual(earlier["sampling"]["samples"], later["sampling"]["samples"])
            self.assertLessEqual(earlier["run"]["seconds"], later["run"]["seconds"])
            self.assertEqual(earlier["run"]["started"], later["run"]["started"])
        self.assertEqual(self.changes(profile), ["stop"])

    def test_phases_of_a_program_are_in_different_dumps(self):
        """A script runs one program until it is told to change, and then another one."""
        script = (f"while ! [ -e go ]; do {victim('edges')} 3000000 >/dev/null; done; >gone; "
                  f"while ! [ -e end ]; do {victim('paths')} 9000000 >/dev/null; done")
        self.begin(script=script)

        def dump(line):
            self.ask(line)
            return self.read_dump(line.split()[1])

        def functions(profile):
            return {location.get("function") for location in profile["locations"]}

        processes.wait_for(lambda: "edges_run" in functions(dump("dump all.json")), "edges")
        self.ask("disable")
        (self.folder / "go").touch()
        processes.wait_for((self.folder / "gone").exists, "the other program")
        # Samples that were under way when sampling was disabled finish, or are given up.
        begun = dump("dump all.json")["sampling"]["changes"][0]["samples"]
        with contextlib.suppress(AssertionError):
            processes.wait_for(lambda: whole_or_cut(dump("dump all.json")) >= begun, "samples", 10)
        first = dump("dump-new first.json")
        self.ask("enable")
        processes.wait_for(lambda: "paths_run" in functions(dump("dump all.json")), "paths")
        second = dump("dump-new second.json")
        self.ask("disable")
        (self.folder / "end").touch()
        done, profile = self.finish_script()
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn("edges_run", functions(first))
        self.assertNotIn("paths_run", functions(first))
        self.assertIn("paths_run", functions(second))
        self.assertNotIn("edges_run", functions(second))
        self.assertTrue({"edges_run", "paths_run"} <= functions(profile.data))
        seconds = [each["run"]["seconds"] for each in (first, second, profile.data)]
        self.assertLess(seconds[0] + seconds[1], seconds[2])
        self.assertEqual(self.changes(second), ["enable"])

    def test_a_dump_that_cannot_be_written_is_told_and_changes_nothing(self):
        self.begin()
        (self.folder / "fifo").unlink(missing_ok=True)
        os.mkfifo(self.folder / "fifo")
        for name, reason in (("no/such/a.json", "create the directory first"),
                             ("fifo", "not a regular file"), (".", "name a file in it"),
                             ("-", "the name of a file")):
            answer = self.send(f"dump {name}")
            self.assertTrue(answer.startswith("error: "), answer)
            self.assertIn(reason, answer)
            self.assertNotIn("-o", answer)
        self.assertTrue(self.send("dunp a.json").startswith("error: did you mean 'dump'? "))
        self.ask("dump a.json")
        self.ask("stop")
        done, profile = self.end()
        self.assertEqual(self.changes(profile), ["stop"])
        for name in ("no/such/a.json", "fifo", "."):
            self.assertIn(f"'{name}'", done.stderr)
        left = {path.name for path in self.folder.iterdir()}
        self.assertFalse({name for name in left if name.startswith(".shadowprof")}, left)

    def test_every_needs_bursts(self):
        self.begin()
        self.assertIn("--every", self.send("every 50"))
        self.ask("stop")
        _, profile = self.end()
        self.assertEqual(self.changes(profile), ["stop"])
        self.assertNotIn("bursts", profile["sampling"])

    def test_sigusr2_switches_off_and_on(self):
        self.begin()
        self.switch_over()
        self.ask("ping")
        self.switch_over()
        self.ask("ping")
        self.switch_over()
        self.ask("stop")
        _, profile = self.end()
        self.assertEqual(self.changes(profile), ["SIGUSR2"] * 3 + ["stop"])
        changes = profile["sampling"]["changes"]
        self.assertEqual(changes[0]["samples"], changes[1]["samples"])

    def test_stop_ends_an_attach(self):
        target, target_tag = self.start([victim("checksum"), "1", "0"], stdout=subprocess.PIPE)
        self.addCleanup(self._kill_all, target.pid, target_tag)
        processes.wait_for(lambda: catches_sigterm(target.pid), "the program's handler")
        (self.folder / "file").write_text("stop\n")
        done = self.shadowprof("attach", "-q", "-o", self.profile_path,
                               f"--control={self.folder}/file", target.pid)
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(self.changes(self.read_profile()), ["stop"])
        target.terminate()
        ended = self.finish(target, target_tag)
        self.assertTrue(ended.stdout.startswith(b"checksum: unharmed"), ended.stdout)

    def test_a_channel_that_cannot_be_opened_starts_nothing(self):
        for control in ("absent", "/dev/null", "ctl,absent"):
            with self.subTest(control=control):
                done = self.shadowprof("run", "-o", self.profile_path, f"--control={control}",
                                       "--", "touch", "started")
                self.assertEqual(done.code, 125)
                self.assertIn("--control", done.stderr)
                self.assertFalse((self.folder / "started").exists())
                self.assertFalse(self.profile_path.exists())


if __name__ == "__main__":
    main()
