"""Profiles of victims whose true counts are known by construction: see the comments in
tests/victims."""

import math
import subprocess

import bounds
from harness import TestCase, main, once, require_programs, victim, whole


# There is one value window in this many instructions.
VALUE_PERIOD = 320_000


class Truth(TestCase):
    """Profiles the victim `program` once for all tests of a class."""

    program = None
    work = None  # the program's argument
    more = ()    # arguments behind it
    # Short samples weigh more than long ones, and so do the paths that are cut off at their ends.
    # Bounds for each sample need samples of one size.
    options = ("--sample-size=1M",)
    profile_of = {}

    def is_enough(self, profile):
        return whole(profile) >= 20

    def setUp(self):
        super().setUp()
        key = self.program, self.more, self.options
        if key not in self.profile_of:
            done, profile = self.profile_until(
                self.is_enough, lambda factor: (victim(self.program), str(factor * self.work), *self.more),
                module=victim(self.program), options=self.options)
            self.assertEqual(done.code, 0, done.stderr)
            self.profile_of[key] = profile
        self.seen = self.profile_of[key]

    def assert_periodic(self, counts, per_period):
        """`counts`: [(label, count, executions per period)]."""
        first, first_count, first_rate = counts[0]
        self.assertGreater(first_count, 0, f"{first} was never seen")
        for what, count, rate in counts[1:]:
            off = abs(count * first_rate - first_count * rate)
            self.assertLessEqual(off, bounds.periodic(self.seen.samples, per_period) * first_rate,
                                 f"{what} {count} against {first} {first_count}")


class Edges(Truth):
    program = "edges"
    work = 30_000_000

    def edge(self, source, target):
        return self.seen.edge_counts().get((self.seen.symbols[source], target), 0)

    def test_sampled_well(self):
        self.assert_sampled_well(self.seen)

    def test_branch_taken_three_times_in_four(self):
        self.assert_periodic([
            ("not taken", self.edge("edges_periodic", "edges_periodic_not"), 2),
            ("taken", self.edge("edges_periodic", "edges_periodic_taken"), 6),
            ("back-edge", self.edge("edges_back", "edges_loop"), 8)], 8)

    def test_indirect_jump_has_its_four_targets_in_their_proportion(self):
        self.assert_periodic(
            [(f"case {i}", self.edge("edges_switch", f"edges_case{i}"), rate)
             for i, rate in ((3, 1), (2, 1), (1, 2), (0, 4))], 8)

    def test_random_branch_is_within_the_sampling_error(self):
        taken = self.edge("edges_random", "edges_random_taken")
        executions = taken + self.edge("edges_random", "edges_random_not")
        self.assertGreater(executions, 100_000)
        self.assertLessEqual(abs(taken - 0.75 * executions), bounds.binomial(executions, 0.75))

    def test_branch_that_is_never_taken_never_is(self):
        self.assertGreater(self.edge("edges_never", "edges_dispatch"), 0)
        self.assertEqual(self.edge("edges_never", "edges_unreachable"), 0)

    def test_calls_and_returns(self):
        self.assert_periodic([
            ("odd", self.edge("edges_indirect_call", "edges_odd"), 4),
            ("even", self.edge("edges_indirect_call", "edges_even"), 4),
            ("call", self.edge("edges_call", "edges_leaf"), 8),
            ("return", self.edge("edges_leaf_return", "edges_after_call"), 8)], 8)

    def test_kinds(self):
        kinds = {}
        for edge in self.seen["edges"]:
            source = self.seen.name(edge["from"])
            if source is not None:
                kinds.setdefault(source, set()).add((self.seen.name(edge["to"]), edge["kind"]))
        self.assertEqual(kinds["edges_random"], {("edges_random_taken", "taken"),
                                                 ("edges_random_not", "fall-through")})
        self.assertEqual(kinds["edges_switch"],
                         {(f"edges_case{i}", "indirect") for i in range(4)})
        self.assertEqual(kinds["edges_call"], {("edges_leaf", "call")})
        self.assertEqual(kinds["edges_leaf_return"], {("edges_after_call", "return")})

    def test_what_enters_a_block_leaves_it(self):
        inflow, outflow = {}, {}
        for (source, target), count in self.seen.edge_counts().items():
            inflow[target] = inflow.get(target, 0) + count
            outflow[source] = outflow.get(source, 0) + count
        for start, branch in (("edges_loop", "edges_periodic"), ("edges_middle", "edges_random"),
                              ("edges_choose", "edges_never"), ("edges_calls", "edges_call"),
                              ("edges_after_call", "edges_indirect_call"),
                              ("edges_end", "edges_back")):
            with self.subTest(block=start):
                entered, left = inflow[start], outflow[self.seen.symbols[branch]]
                self.assertLessEqual(abs(entered - left), self.seen.samples)

    def test_call_pairs_agree_with_the_edges(self):
        pairs = {(self.seen.name(call["site"]), self.seen.name(call["callee"])): call["count"]
                 for call in self.seen["calls"]}
        for site, callee in (("edges_call", "edges_leaf"), ("edges_indirect_call", "edges_odd"),
                             ("edges_indirect_call", "edges_even")):
            with self.subTest(callee=callee):
                self.assertEqual(pairs[site, callee], self.edge(site, callee))

    def test_stacks_hold_the_instructions_of_each_function(self):
        """Per iteration edges_run executes 37 instructions, edges_leaf 2, edges_odd or
        edges_even 2."""
        inside = {}
        for stack in self.seen["stacks"]:
            functions = [self.seen.locations[frame].get("function") for frame in stack["frames"]]
            inside[functions[-1]] = inside.get(functions[-1], 0) + stack["instructions"]
            if functions[-1] == "edges_leaf":
                self.assertEqual(functions[-3:-1], ["main", "edges_run"])
        self.assert_periodic([("edges_leaf", inside["edges_leaf"], 2),
                              ("edges_run", inside["edges_run"], 37),
                              ("edges_odd", inside["edges_odd"], 1),
                              ("edges_even", inside["edges_even"], 1)], 8 * 41)


class SlowPlaces(TestCase):
    """A program is mostly stopped where it is slow; the profile must not show that."""

    def test_what_is_slow_is_not_seen_more_often(self):
        slow, quick, samples = 0, 0, 0
        for _ in range(10):
            done, profile = self.profile(victim("slow"), "6000000", module=victim("slow"),
                                         options=("--load=4", "--sample-size=1k",
                                                  "--max-samples=2500"))
            self.assertEqual(done.code, 0, done.stderr)
            counts = profile.edge_counts()
            slow += counts.get((profile.symbols["slow_loaded"], "slow_begin"), 0)
            quick += counts.get((profile.symbols["slow_quick"], "slow_spin"), 0)
            samples += profile.samples
            if samples > 4000:
                break
        self.assertGreater(samples, 4000)
        # Samples that begin where the program was stopped would see a quarter more of the slow
        # place. A sample of this size ends 330 instructions later, nearly always in quick code, so
        # a tenth less of the slow place is seen than there is.
        allowed = bounds.binomial(samples, 0.7)
        self.assertLessEqual(slow - quick / 399, allowed)
        self.assertLessEqual(quick / 399 - slow, allowed + 0.15 * quick / 399)
        self.assertLess(allowed, 0.15 * quick / 399, "too few samples for a test")


class SpeedsOf(Truth):
    """Phases of about the same duration, which have from 1 to 80% of the turns of loops."""

    program = "speeds"
    work = 150
    options = ("--sample-time=300us", "--mode=shadow", "--load=1", "--profiles=edge,method")
    TURNS = {"arithmetic": 4_000_000, "divides": 600_000, "chase": 60_000, "branches": 600_000}
    WINDOWS = 200
    # A machine that needs longer than this is too busy for such samples: tests that need them are
    # skipped.
    LONGEST_SECONDS = 20

    def is_enough(self, profile):
        return (profile["sampling"]["counters"].get("windows_met", 0) >= self.WINDOWS or
                profile["run"]["seconds"] > self.LONGEST_SECONDS)

    def setUp(self):
        super().setUp()
        self.windows = self.seen["sampling"]["counters"].get("windows_met", 0)

    def times(self):
        """Returns seconds of processor time, which the program measures in a separate run:
        memory may be slower or faster then."""
        text = once("times of speeds", lambda: subprocess.run(
            [victim(self.program), "30", "times"], check=True, stdout=subprocess.PIPE, text=True).stdout)
        return {name: float(seconds) for name, seconds in map(str.split, text.splitlines())}

    def assert_odds(self, amounts, truth):
        """Checks that the odds of each phase are as near to the truth as the number of samples
        allows, about a factor of 7. With samples of equal size, the odds of turns of the fastest
        phase would be wrong by a factor of 14, and the odds of time of the slowest by 24."""
        if self.windows < self.WINDOWS:
            self.skipTest(f"only {self.windows} windows in all of the work")
        times = self.times()
        for name in truth:
            others = [other for other in truth if other != name]
            # The other phases together are as uncertain as the largest of them.
            main = max(others, key=truth.get)
            share, of_main = (times[each] / sum(times.values()) for each in (name, main))
            found, true = (each[name] / sum(each[other] for other in others) for each in (amounts, truth))
            with self.subTest(phase=name):
                self.assertLess(abs(math.log(found / true)),
                                math.log(bounds.odds(self.windows, share, of_main)),
                                f"{amounts}, {truth}, {self.windows} windows")

    def assert_turns(self):
        turns = dict.fromkeys(self.TURNS, 0)
        for (_, target), count in self.seen.edge_counts().items():
            name = target.removeprefix("speeds_").removesuffix("_turn")
            if name in turns:
                turns[name] += count
        self.assert_odds(turns, self.TURNS)


class Speeds(SpeedsOf):
    def test_slow_phases_do_not_count_too_often(self):
        self.assert_turns()

    def test_time_is_that_of_the_program(self):
        times = self.times()
        found = dict.fromkeys(times, 0)
        for method in self.seen["methods"]:
            name = (self.seen.name(method["entry"]) or "").removeprefix("speeds_")
            if name in found:
                found[name] += method["time_ns"]
        self.assert_odds(found, times)

    def test_times_add_up(self):
        time = sum(each["time_ns"] for each in self.seen["times"])
        self.assertEqual(time, sum(thread["time_ns"] for thread in self.seen["threads"]))
        self.assertEqual(time, sum(stack.get("time_ns", 0) for stack in self.seen["stacks"]))
        self.assertLessEqual(time / 1e9, 1.05 * self.seen["run"]["seconds"])
        of_functions = sum(method.get("time_ns", 0) for method in self.seen["methods"])
        self.assertLessEqual(of_functions, time)
        self.assertGreater(of_functions, 0.9 * time)
        self.assertEqual(self.seen["sampling"]["counters"]["looks"],
                         sum(each["looks"] for each in self.seen["times"]))

    def test_without_looks_there_are_no_times(self):
        done, profile = self.profile(victim(self.program), "60", module=victim(self.program),
                                     options=(*self.options, "--looks=no"))
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(profile["times"], [])
        self.assertNotIn("looks", profile["sampling"]["counters"])
        self.assertNotIn("time_ns", profile["threads"][0])
        self.assertFalse([stack for stack in profile["stacks"] if "time_ns" in stack])

    def test_samples_end_in_states_of_the_program(self):
        counters = self.seen["sampling"]["counters"]
        # The emulation does not see the end of a window in which the program became much faster.
        self.assertLessEqual(counters.get("windows_missed", 0), counters["windows_met"] / 20)
        self.assertEqual(counters.get("windows_missed_memory", 0), 0)
        self.assertGreater(counters["window_instructions"], 0)


class SpeedsOfThreads(SpeedsOf):
    """Two threads run the loops at the same time, and are in different phases."""

    more = ("threads",)

    def test_slow_phases_do_not_count_too_often(self):
        self.assert_turns()

    def test_samples_end_in_states_of_the_program(self):
        if self.windows < self.WINDOWS:
            self.skipTest(f"only {self.windows} windows in all of the work")
        counters = self.seen["sampling"]["counters"]
        self.assertLessEqual(counters.get("windows_missed", 0), counters["windows_met"] / 4)


class Interpreter(TestCase):
    """An interpreter, which reaches the same places with the same registers and the same stack
    again and again."""

    SCRIPT = """
        local numbers, sum, begin = {}, 0, os.clock()
        for i = 1, 64 do numbers[i] = i end
        for round = 1, arg[1] do
            for i = 1, 64 do
                sum = sum + numbers[i]
                numbers[i] = (numbers[i] * 5 + 1) % 1024
            end
        end
        print(os.clock() - begin)"""
    OPTIONS = ("--sample-time=300us", "--mode=shadow", "--load=1", "--profiles=edge")

    def command(self, rounds):
        script = self.folder / "numbers.lua"
        script.write_text(self.SCRIPT)
        return "lua5.4", script, str(rounds)

    def instructions_of(self, rounds):
        done, profile = self.profile(*self.command(rounds), options=("--mode=exact", "--profiles=edge"))
        self.assertEqual(done.code, 0, done.stderr)
        return profile["sampling"]["instructions"]

    def test_windows_end_when_the_program_was_there(self):
        """So windows have as many instructions as other stretches of the same time. A state that
        recurs at each turn of a loop would be met hundreds of times too early."""
        fewer, more = 1_000, 3_000
        instructions = (self.instructions_of(more) - self.instructions_of(fewer)) / (more - fewer)
        rounds = 200_000
        done = subprocess.run(self.command(rounds), check=True, stdout=subprocess.PIPE, text=True)
        per_second = instructions * rounds / float(done.stdout)
        done, profile = self.profile_until(
            lambda profile: profile["sampling"]["counters"].get("windows_met", 0) >= 20,
            lambda factor: self.command(factor * rounds), options=self.OPTIONS)
        counters = profile["sampling"]["counters"]
        self.assertGreater(counters.get("windows_met", 0), 0, done.stderr)
        seen = counters["window_instructions"] / counters["window_ns"] * 1e9
        self.assertLess(abs(math.log(seen / per_second)), math.log(3),
                        f"{seen:.3g} instructions a second in {counters['windows_met']} windows, "
                        f"{per_second:.3g} in the run")

    def test_live_samples_come_by_states_of_the_program(self):
        """The program executes a moment later what the samples have emulated."""
        done, profile = self.profile_until(
            lambda profile: profile["sampling"]["counters"].get("live_windows_met", 0) >= 10,
            lambda factor: self.command(factor * 200_000),
            options=("--mode=live", "--load=0.3", "--profiles=edge"))
        counters = profile["sampling"]["counters"]
        met = counters.get("live_windows_met", 0)
        if met < 10:
            self.skipTest(f"on this machine few second stops come soon enough: {counters}")
        self.assertEqual(met, counters["windows_met"], done.stderr)
        self.assertEqual(counters.get("windows_missed_memory", 0), 0)
        self.assertLessEqual(counters.get("windows_missed", 0), met / 10)


class Paths(Truth):
    program = "paths"
    work = 300_000_000

    # Name: blocks, instructions of one execution, executions per 8 iterations.
    PATHS = {
        "short": (("paths_loop", "paths_short", "paths_join"), 7, 6),
        "low": (("paths_loop", "paths_long", "paths_callee", "paths_low", "paths_after_call",
                 "paths_join"), 13, 1),
        "high": (("paths_loop", "paths_long", "paths_callee", "paths_high", "paths_after_call",
                  "paths_join"), 13, 1),
    }

    def paths_in_loop(self):
        """Returns the paths of the loop. If a sample ends within a block there is another path
        of the same blocks with fewer instructions, which is less hot and therefore comes later."""
        found = {}
        for path in self.seen["paths"]:
            blocks = tuple(self.seen.name(block) for block in path["blocks"])
            if any(name and name.startswith("paths_") for name in blocks):
                found.setdefault(blocks, path)
        return found

    def test_sampled_well(self):
        self.assert_sampled_well(self.seen)

    def test_paths_have_their_frequencies(self):
        found = self.paths_in_loop()
        self.assert_periodic([(name, found[blocks]["count"], rate) for name, (blocks, _, rate)
                              in sorted(self.PATHS.items())], 8)

    def test_paths_count_their_instructions(self):
        found = self.paths_in_loop()
        for name, (blocks, instructions, _) in self.PATHS.items():
            with self.subTest(path=name):
                self.assertEqual(found[blocks]["instructions"], instructions)

    def test_there_are_no_other_paths_but_the_cut_ones(self):
        whole = {blocks for blocks, _, _ in self.PATHS.values()}
        others = {blocks: path["count"] for blocks, path in self.paths_in_loop().items()
                  if blocks not in whole}
        # A sample begins and ends in the middle of a path, and short samples weigh more than
        # others.
        self.assertLessEqual(sum(others.values()), 3 * self.seen.samples, others)


class Values(Truth):
    program = "values"
    work = 120_000_000
    least = 10_000  # executions that must be recorded for the bounds to hold

    def is_enough(self, profile):
        entry = profile.value("values_load", "edx")
        return super().is_enough(profile) and entry is not None and entry["count"] > 2 * self.least

    def shares(self, label, operand):
        """Returns {value: (estimated count, error)} and the number of recorded executions."""
        entry = self.seen.value(label, operand)
        self.assertIsNotNone(entry, f"no values of {operand} at {label}")
        self.assertGreater(entry["count"], self.least)
        return ({int(top["value"], 16): (top["count"], top.get("error", 0))
                 for top in entry["top"]}, entry["count"], entry)

    def assert_shares(self, label, operand, truth):
        """`truth`: {value: probability}."""
        top, executions, _ = self.shares(label, operand)
        for value, probability in truth.items():
            count, error = top.get(value, (0, 0))
            self.assertLessEqual(abs(count - probability * executions),
                                 bounds.binomial(executions, probability, error),
                                 f"{label}: {value:#x} {count} of {executions}")

    def test_sampled_well(self):
        self.assert_sampled_well(self.seen)

    def test_load_with_two_frequent_values(self):
        self.assert_shares("values_load", "edx", {7: 717 / 1024, 9: 205 / 1024})

    def test_load_has_only_values_that_are_in_the_table(self):
        top, executions, entry = self.shares("values_load", "edx")
        self.assertLessEqual(set(top), {7, 9, *range(1000, 1102)})
        off = bounds.binomial(executions, 717 / 1024, top[7][1])
        self.assertAlmostEqual(entry["invariance"], 717 / 1024, delta=off / executions)
        self.assertLess(entry["invariance_lower_bound"], 717 / 1024)
        self.assertGreater(entry["invariance_lower_bound"], 0.1)

    def test_constant(self):
        top, executions, entry = self.shares("values_constant", "r8")
        self.assertEqual(set(top), {42})
        self.assertEqual(entry["invariance"], 1.0)
        self.assertGreater(entry["invariance_lower_bound"], 0.5)
        self.assertLessEqual(abs(top[42][0] - executions), bounds.hotlist(top[42][1]))

    def test_counter_has_no_frequent_value(self):
        """Each value occurs once: a hotlist's estimate may be off only by its own error."""
        top, _, entry = self.shares("values_counter", "r9")
        for value, (count, error) in top.items():
            self.assertLessEqual(abs(count - 1), bounds.hotlist(error), hex(value))
        self.assertNotIn("invariance", entry)

    def test_four_values_in_turn(self):
        self.assert_shares("values_periodic", "r11d", {value: 0.25 for value in range(4)})

    def test_byte_register(self):
        self.assert_shares("values_byte", "r11b", {0: 0.5, 1: 0.5})

    def test_vector_register(self):
        top, _, _ = self.shares("values_vector", "xmm3")
        self.assertEqual(set(top), {0x0f0e0d0c0b0a09080706050403020100})

    def assert_texts(self, label, operand, kind, texts):
        """Checks that each of the `texts` is the text of a value, and that all are equally
        frequent."""
        top, executions, entry = self.shares(label, operand)
        self.assertEqual(entry["type"], kind)
        self.assertEqual({value["text"] for value in entry["top"]}, set(texts))
        for count, error in top.values():
            self.assertLessEqual(abs(count - executions / len(texts)),
                                 bounds.binomial(executions, 1 / len(texts), error))

    def test_scalar_is_one_number_whatever_is_in_the_other_lane(self):
        self.assert_texts("values_converted", "xmm4", "f64", ("0", "1", "2", "3"))
        self.assert_texts("values_scalar", "xmm4", "f64", ("0.5", "1.5", "2.5", "3.5"))
        self.assert_texts("values_single", "xmm5", "f32", ("0.5", "1.5"))

    def test_lanes_are_numbers(self):
        self.assert_texts("values_doubles", "xmm6", "f64x2", ("3 -0.5",))
        self.assert_texts("values_lanes", "xmm7", "u32x4", ("2 4 6 4294967294",))

    def test_what_was_only_moved_is_bits(self):
        _, _, entry = self.shares("values_vector", "xmm3")
        self.assertEqual(entry["type"], "v128")

    def test_the_instructions_of_one_loop_are_recorded_equally_often(self):
        counts = [self.seen.value(label, operand)["count"] for label, operand in
                  (("values_load", "edx"), ("values_constant", "r8"), ("values_counter", "r9"),
                   ("values_byte", "r11b"))]
        # Recording begins and ends inside an iteration, at most once per burst.
        bursts = self.seen.samples + self.seen["sampling"]["instructions"] / VALUE_PERIOD
        self.assertLessEqual(max(counts) - min(counts), bursts)


# Allows enough time for whole samples on most machines.
IN_LIVE_SAMPLES = ("--live-timing=50ms/100ms", "--sample-size=1M")


class EdgesInBursts(Edges):
    options = IN_LIVE_SAMPLES

    def test_all_were_live_samples(self):
        self.assertEqual(self.seen["sampling"]["mode"], "live")
        self.assertEqual(self.seen["overhead"]["forks"], 0)


class PathsInBursts(Paths):
    options = IN_LIVE_SAMPLES


class ValuesInBursts(Values):
    options = IN_LIVE_SAMPLES
    least = 1_000  # how many a stop has time for depends on the machine


del Truth  # unittest would run it as well


class Callers(TestCase):
    """callers.S: the values of one instruction, by its callers."""

    FIRST, SECOND, MIDDLE = ("callers_first_return",), ("callers_second_return",), \
        ("callers_middle_return",)
    FIVE = (*MIDDLE, "callers_five_return")
    SIX = (*MIDDLE, "callers_six_return")

    @staticmethod
    def site_of(profile):
        return profile.value("callers_leaf_value", "rax")

    def by_caller(self, options, work, frames, least=0):
        """Returns {labels behind the calls: entry of by_caller}, and the entry of the site,
        which was seen at least `least` times."""
        def is_enough(profile):
            return least == 0 or (self.site_of(profile) or {"count": 0})["count"] >= least

        done, profile = self.profile_until(
            is_enough, lambda factor: (victim("callers"), str(factor * work)),
            module=victim("callers"), options=[*options, f"--value-callers={frames}"])
        self.assertEqual(done.code, 0, done.stderr)
        names = {address: name for name, address in profile.symbols.items()
                 if name.endswith("_return")}

        def labels(callers):
            places = [profile.locations[caller] for caller in callers]
            found = [names.get(int(place["address"], 16) + 1) for place in places
                     if place["module"] == profile.module]
            return tuple(label for label in found if label)

        site = self.site_of(profile)
        self.assertIsNotNone(site)
        return {labels(each["callers"]): each for each in site.get("by_caller", [])}, site

    def assert_always(self, entry, value, min_bound=0.5):
        self.assertEqual([top["text"] for top in entry["top"]], [str(value)])
        self.assertEqual(entry["invariance"], 1)
        self.assertGreaterEqual(entry["invariance_lower_bound"], min_bound)

    def test_every_execution_by_its_caller(self):
        work = 20_000
        found, site = self.by_caller(["--mode=exact", "--profiles=value"], work, 1)
        self.assertEqual(site["count"], 4 * work)
        self.assertEqual(set(found), {self.FIRST, self.SECOND, self.MIDDLE})
        self.assertEqual([found[key]["count"] for key in (self.FIRST, self.SECOND, self.MIDDLE)],
                         [work, work, 2 * work])
        self.assert_always(found[self.FIRST], 8)
        self.assertLess(found[self.SECOND].get("invariance", 0), 0.5)
        self.assertEqual({top["text"]: top["count"] for top in found[self.MIDDLE]["top"]},
                         {"6": work, "7": work})

    def test_the_callers_caller_on_request(self):
        work = 5_000
        found, _ = self.by_caller(["--mode=exact", "--profiles=value"], work, 2)
        self.assertEqual(set(found), {self.FIRST, self.SECOND, self.FIVE, self.SIX})
        self.assert_always(found[self.FIVE], 6)
        self.assert_always(found[self.SIX], 7)
        self.assertEqual(found[self.SIX]["count"], work)

    def test_none_where_none_are_wanted(self):
        found, site = self.by_caller(["--mode=exact", "--profiles=value"], 100, 0)
        self.assertEqual(site["count"], 400)
        self.assertEqual(found, {})

    def test_samples_begin_with_the_callers_that_unwinding_finds(self):
        for mode in ("shadow", "live"):
            with self.subTest(mode=mode):
                found, _ = self.by_caller([f"--mode={mode}", "--profiles=value", "--budget=20%"],
                                          60_000_000, 2, least=1000)
                self.assertEqual(set(found), {self.FIRST, self.SECOND, self.FIVE, self.SIX})
                # How many are certain depends on the number of samples.
                for caller, value in ((self.FIRST, 8), (self.FIVE, 6), (self.SIX, 7)):
                    self.assert_always(found[caller], value, min_bound=0)


if __name__ == "__main__":
    require_programs("lua5.4")
    main()
