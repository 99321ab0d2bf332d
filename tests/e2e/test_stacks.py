"""Call stacks of programs that leave frames at once, by longjmp and exceptions, and of programs
that go on to other stacks: coroutines, handlers of signals. No stack may have a frame of another
context, nor one that was left."""

import re
import shutil

from harness import TestCase, main, once, victim

ROUNDS = 300


class Stacks(TestCase):
    def stacks(self, profile):
        """Yields the program's own functions, outermost first, and the instructions of each stack."""
        module = profile.module
        for stack in profile["stacks"]:
            frames = [profile.locations[frame] for frame in stack["frames"]]
            names = [frame["function"] for frame in frames if frame["module"] == module]
            # Compilers name parts and clones of functions after them: overflow.isra.0.
            yield tuple(re.sub(r"\.\w+\.\d+$", "", name) for name in names
                        if name not in (None, "_start", "main")), stack

    def work(self, profile):
        """Returns the callers of each work_ function, and its share of their instructions."""
        found = {}
        for names, stack in self.stacks(profile):
            if not names or not names[-1].startswith("work_"):
                continue
            found[names] = found.get(names, 0) + stack["instructions"]
        total = sum(found.values())
        return {names: instructions / total for names, instructions in found.items()}

    def profiled(self, program, *words, options=("--mode=exact", "--profiles=stack,call-cost")):
        def make():
            done, profile = self.profile(victim(program), *words, options=options,
                                         module=victim(program))
            self.assertEqual(done.code, 0, done.stderr)
            return profile
        return once((program, words, options), make)

    def assert_work(self, expected, program, *words):
        profile = self.profiled(program, *words)
        found = self.work(profile)
        self.assertEqual(set(found), set(expected))
        for names, share in expected.items():
            self.assertAlmostEqual(found[names], share, delta=0.01, msg=names)
        self.assert_costs(profile)

    def assert_costs(self, profile):
        """No call costs more than all that is executed."""
        total = sum(stack["instructions"] for stack in profile["stacks"])
        for cost in profile["call_costs"]:
            self.assertLessEqual(cost["instructions"], total)


class LeftFrames(Stacks):
    def test_longjmp(self):
        self.assert_work({("longjmps", "work_after_jump"): 1}, "stacks", "longjmps", str(ROUNDS))

    def test_longjmp_to_a_frame_of_the_same_function(self):
        self.assert_work({("recursive_longjmps", *["level"] * (caught + 1), "work_in_level"): 0.25
                          for caught in (1, 4, 7, 10)}, "stacks", "recursive", str(ROUNDS))

    def test_exceptions(self):
        """A function that catches may be there twice (docs/architecture/open.md). Compilers may inline
        destructors, and make loops of the same work differently."""
        profile = self.profiled("exceptions", str(ROUNDS))
        shares = {}
        for names, share in self.work(profile).items():
            names = tuple(re.sub(r"\(.*", "", name) for name in names)
            names = tuple(name for i, name in enumerate(names)
                          if not name.startswith("Cleanup") and name not in names[:i])
            shares[names] = shares.get(names, 0) + share
        expected = {("exceptions", "rethrow", "with_cleanup", "work_in_destructor"),
                    ("exceptions", "work_after_catch"),
                    ("coroutine", "catches", "work_in_coroutine")}
        self.assertEqual(set(shares), expected)
        for share in shares.values():
            self.assertAlmostEqual(share, 1 / 3, delta=0.05)
        self.assert_costs(profile)

    def test_a_stack_overflows(self):
        """How deep it is when it does depends on the kernel."""
        profile = self.profiled("stacks", "overflows", "3")
        shares = {}
        for names, share in self.work(profile).items():
            outer = tuple(name for name in names if name != "overflow")
            shares[outer] = shares.get(outer, 0) + share
            if "handler" in names:
                self.assertGreater(names.count("overflow"), 10)
            else:
                self.assertEqual(names, ("overflows", "work_behind_overflow"))
        self.assertEqual(set(shares), {("overflows", "work_behind_overflow"),
                                       ("overflows", "handler", "handler_inner", "work_in_handler")})
        self.assertAlmostEqual(shares["overflows", "work_behind_overflow"], 0.5, delta=0.01)
        self.assert_costs(profile)


class OtherStacks(Stacks):
    def test_contexts(self):
        self.assert_work({("alpha", "work_alpha"): 0.5, ("beta", "work_beta"): 0.5},
                         "stacks", "contexts", str(ROUNDS))

    def test_fibers_side_by_side(self):
        self.assert_work({("fiber", "fiber_inner", "work_fiber"): 0.5,
                          ("fibers_in_turns", "work_between_fibers"): 0.5},
                         "stacks", "fibers", str(ROUNDS))

    def test_handlers(self):
        for mode in ("signals", "onstack"):
            with self.subTest(mode=mode):
                handled = ("handler", "handler_inner", "work_in_handler")
                expected = {("signals", *["raise_from"] * (depth + 1), *handled): 0.1
                            for depth in range(5)}
                self.assert_work({**expected, ("signals", "work_behind_signal"): 0.5},
                                 "stacks", mode, str(ROUNDS))


class Goroutines(Stacks):
    """They hand over to each other by the scheduler, which has a stack of its own and goes on at
    its top each time."""

    SOURCE = """
        package main

        //go:noinline
        func workAlpha(n int) (sum int) {
            for i := 0; i < n; i++ {
                sum = sum*3 + i
            }
            return
        }

        //go:noinline
        func workBeta(n int) (sum int) {
            for i := 0; i < n; i++ {
                sum = sum*5 + i
            }
            return
        }

        func alpha(in, out chan int, rounds int) {
            for i := 0; i < rounds; i++ {
                out <- workAlpha(500)
                <-in
            }
        }

        func beta(in, out chan int, rounds int, done chan int) {
            for i := 0; i < rounds; i++ {
                <-in
                out <- workBeta(500)
            }
            done <- 0
        }

        func main() {
            a, b, done := make(chan int), make(chan int), make(chan int)
            go alpha(a, b, ROUNDS)
            go beta(b, a, ROUNDS, done)
            <-done
        }"""
    # A goroutine's stack begins with 2 KiB. Where it needs more, it is copied elsewhere.
    GROWING = """
        package main

        //go:noinline
        func work(n int) (sum int) {
            for i := 0; i < n; i++ {
                sum = sum*3 + i
            }
            return
        }

        //go:noinline
        func grow(depth int) int {
            var room [200]byte
            room[depth%200] = byte(depth)
            if depth == 0 {
                return work(2000) + int(room[0])
            }
            return grow(depth-1) + int(room[depth%200])
        }

        func start(done chan int) {
            done <- grow(40)
        }

        func main() {
            done := make(chan int)
            for i := 0; i < 300; i++ {
                go start(done)
                <-done
            }
        }"""
    # Of a goroutine that waits for another, with the frames of the runtime.
    MOST_FRAMES = 64

    def build(self, source):
        if shutil.which("go") is None:
            self.skipTest("there is no Go here")
        (self.folder / "program.go").write_text(source)
        made = self.run_command(["go", "build", "-o", "program", "program.go"],
                                env={"HOME": str(self.folder), "GOFLAGS": "-buildvcs=false"})
        self.assertEqual(made.code, 0, made.stderr)
        return self.folder / "program"

    def run_go(self, program, options, **env):
        done, profile = self.profile(program, options=options, module=str(program),
                                     env={"GOMAXPROCS": "1", **env})
        self.assertEqual(done.code, 0, done.stderr)
        return list(self.stacks(profile))

    def test_no_stack_has_frames_of_two(self):
        program = self.build(self.SOURCE.replace("ROUNDS", "5000"))
        for options in (["--mode=exact"], ["--load=8"]):
            with self.subTest(options):
                stacks = [names for names, _ in self.run_go(program, options)]
                for names in stacks:
                    self.assertFalse({"main.alpha", "main.beta"} <= set(names), names)
                    self.assertLess(len(names), self.MOST_FRAMES, names)
                if options == ["--mode=exact"]:
                    self.assertTrue(any(names[-2:] == ("main.beta", "main.workBeta")
                                        for names in stacks))

    def test_a_stack_that_was_copied_keeps_its_callers(self):
        of_work = {True: 0, False: 0}
        # A goroutine that the runtime preempts by a signal loses its callers (docs/architecture/open.md).
        for names, stack in self.run_go(self.build(self.GROWING), ["--mode=exact"],
                                        GODEBUG="asyncpreemptoff=1"):
            if names and names[-1] == "main.work":
                is_whole = names[-43:-1] == ("main.start", *["main.grow"] * 41)
                of_work[is_whole] += stack["instructions"]
        self.assertGreater(of_work[True], 0)
        self.assertLess(of_work[False], 0.02 * of_work[True], of_work)


class DeepStacks(Stacks):
    def test_own_instructions_are_those_of_the_function_that_executes(self):
        profile = self.profiled("stacks", "depth", "100")
        own = {}
        for names, stack in self.stacks(profile):
            if names:
                own[names[-1]] = own.get(names[-1], 0) + stack["instructions"]
        self.assertGreater(own["work_at_depth"], 100 * 500 * 3)
        self.assertGreater(own["recurse"], 6000 * 5)
        self.assertLess(own["recurse"], 6000 * 30)

    def test_a_cut_stack_says_that_it_is_cut(self):
        profile = self.profiled("stacks", "depth", "100")
        at_depth = [stack for names, stack in self.stacks(profile)
                    if names and names[-1] == "work_at_depth"]
        self.assertEqual(len(at_depth), 1)
        self.assertEqual(len(at_depth[0]["frames"]), 4096)
        self.assertEqual(at_depth[0]["folded"], at_depth[0]["instructions"])


if __name__ == "__main__":
    main()
