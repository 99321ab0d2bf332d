"""Functions of Python scripts in the stacks of the interpreter that executes them."""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys

from harness import DENSE, TestCase, main, taken

# `heavy` does three times what `light` does. `key` is called by sort(), a function of C, in whose
# stack the interpreter is once more. `deep` calls itself 20 times, `gave` is a generator.
SCRIPT = """
import sys

def spin(rounds):
    total = 0
    for i in range(rounds):
        total += i & 7
    return total

def light(rounds):
    return spin(rounds)

def heavy(rounds):
    return spin(3 * rounds)

class Sorter:
    def key(self, x):
        total = 0
        for i in range(20):
            total += x & i
        return total

    def sort(self, numbers):
        return sorted(numbers, key=self.key)

def deep(depth, rounds):
    return deep(depth - 1, rounds) if depth else spin(rounds)

def gave(rounds):
    for i in range(2):
        yield spin(rounds)

def fails(rounds):
    spin(rounds)
    raise ValueError

def caught(rounds):
    try:
        fails(rounds)
    except ValueError:
        return spin(rounds)

def work(rounds):
    light(rounds)
    heavy(rounds)
    Sorter().sort(range(rounds // 20))
    deep(20, rounds)
    sum(gave(rounds))
    caught(rounds)

for _ in range(int(sys.argv[1])):
    work(int(sys.argv[2]))
"""

# Threads begin in no function of the script, a child of fork in those of its parent. A handler of a
# signal interrupts whatever runs.
FAMILY = """
import os, signal, sys, threading

def spin(rounds):
    total = 0
    for i in range(rounds):
        total += i & 7
    return total

def in_thread(rounds):
    return spin(rounds)

def in_child(rounds):
    return spin(rounds)

def in_handler(*unused):
    spin(2000)

def after_signal(rounds):
    return spin(rounds)

def family(rounds):
    threads = [threading.Thread(target=in_thread, args=(rounds,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    signal.signal(signal.SIGUSR1, in_handler)
    os.kill(os.getpid(), signal.SIGUSR1)
    after_signal(rounds)
    child = os.fork()
    if child == 0:
        in_child(rounds)
        os._exit(0)
    os.waitpid(child, 0)

family(int(sys.argv[1]))
"""

# Greenlets hand over to each other in turns. They copy their stacks to and from the same place.
GREENLETS = """
import greenlet, sys

def work_first(rounds):
    total = 0
    for i in range(rounds):
        total += i & 7
    return total

def work_second(rounds):
    total = 0
    for i in range(rounds):
        total += i & 7
    return total

def work_third(rounds):
    total = 0
    for i in range(rounds):
        total += i & 7
    return total

def first(rounds):
    for _ in range(turns):
        work_first(rounds)
        others[1].switch(rounds)

def second(rounds):
    while True:
        work_second(rounds)
        others[2].switch(rounds)

def third(rounds):
    while True:
        work_third(rounds)
        others[0].switch(rounds)

turns = int(sys.argv[1])
others = [greenlet.greenlet(function) for function in (first, second, third)]
others[0].switch(int(sys.argv[2]))
"""

# Versions whose frames are read (src/emu/watch/python_layout.h).
KNOWN = ("3.11", "3.12", "3.13")


def version_of(python):
    """Returns "3.11" and the like; None if that cannot be executed."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def pythons():
    """Returns the interpreters of this machine whose frames are read, by version."""
    found = {}
    names = [sys.executable, *(shutil.which("python" + version) for version in KNOWN)]
    names += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    for name in filter(None, names):
        version = version_of(name)
        if version in KNOWN:
            found.setdefault(version, name)
    return found


# All stacks of SCRIPT, without those that are the beginning of another one.
STACKS = [("<module>", "work", *rest) for rest in (
    ("light", "spin"), ("heavy", "spin"), ("Sorter.sort", "Sorter.key"),
    ("deep",) * 21 + ("spin",), ("gave", "spin"), ("caught", "fails", "spin"), ("caught", "spin"))]


class Scripts(TestCase):
    def setUp(self):
        super().setUp()
        self.pythons = pythons()
        if not self.pythons:
            self.skipTest("no interpreter whose frames are read")
        self.script = self.folder / "script.py"
        self.script.write_text(SCRIPT)

    def profile_of(self, python, options, times, rounds):
        done, profile = self.profile(python, "-S", self.script, str(times), str(rounds),
                                     options=options)
        self.assertEqual(done.code, 0, done.stderr)
        return profile

    def names(self, profile, stack):
        """Returns the functions of the script in a stack, the outermost first."""
        names = []
        for frame in stack["frames"]:
            location = profile["locations"][frame]
            if profile["modules"][location["module"]]["path"] == f"[python] {self.script}":
                names.append(location["function"])
        return names

    def instructions(self, profile):
        """Returns the instructions of each stack of functions of the script."""
        sums = collections.Counter()
        for stack in profile["stacks"]:
            sums[tuple(self.names(profile, stack))] += stack["instructions"]
        return sums

    def check_sums(self, sums, tolerance):
        def within(*names):
            return sum(n for stack, n in sums.items()
                       if all(name in stack for name in names))

        light, heavy = within("light"), within("heavy")
        self.assertGreater(light, 0)
        self.assertAlmostEqual(heavy / light, 3, delta=3 * tolerance)
        self.assertAlmostEqual(within("deep") / light, 1, delta=tolerance)
        self.assertAlmostEqual(within("gave") / light, 2, delta=2 * tolerance)
        self.assertAlmostEqual(within("caught") / light, 2, delta=2 * tolerance)
        # What runs in a function is in those that called it.
        for stack, n in sums.items():
            if "spin" in stack and n > 0.002 * light:
                self.assertEqual(stack[:2], ("<module>", "work"), stack)
                self.assertIn(stack[2], ("light", "heavy", "deep", "gave", "caught"), stack)

    def test_exact_counts_by_function(self):
        for version, python in self.pythons.items():
            with self.subTest(version=version):
                profile = self.profile_of(python, ["--mode=exact"], 4, 2000)
                sums = self.instructions(profile)
                self.check_sums(sums, 0.1)
                stacks = {stack: n for stack, n in sums.items() if n}
                self.assertIn(("<module>", "work", "heavy", "spin"), stacks)
                self.assertIn(("<module>", "work", *["deep"] * 21, "spin"), stacks)
                self.assertIn(("<module>", "work", "caught", "fails", "spin"), stacks)
                self.assertIn(("<module>", "work", "caught", "spin"), stacks)
                self.assertIn(("<module>", "work", "gave", "spin"), stacks)
                self.assertIn(("<module>", "work", "Sorter.sort", "Sorter.key"), stacks)
                self.assertEqual(profile["sampling"]["counters"].get("mismatched_returns", 0), 0)

    def test_exact_counts_of_threads_children_and_signals(self):
        self.script.write_text(FAMILY)
        for version, python in self.pythons.items():
            with self.subTest(version=version):
                done, profile = self.profile(python, "-S", self.script, "3000", options=(
                    "--mode=exact", "--follow-forks=yes"))
                self.assertEqual(done.code, 0, done.stderr)
                stacks = {stack: n for stack, n in self.instructions(profile).items() if n}
                in_thread = stacks[("in_thread", "spin")]
                for function in ("after_signal", "in_child"):
                    n = stacks[("<module>", "family", function, "spin")]
                    self.assertAlmostEqual(n / in_thread, 0.5, delta=0.05)
                handled = sum(n for stack, n in stacks.items()
                              if stack[-2:] == ("in_handler", "spin"))
                self.assertAlmostEqual(handled / in_thread, 1 / 3, delta=0.07)

    def pythons_with_greenlets(self):
        found = [python for python in {*self.pythons.values(), "/usr/bin/python3"}
                 if os.path.exists(python) and version_of(python) in KNOWN and
                 subprocess.run([python, "-c", "import greenlet"], capture_output=True,
                                check=False).returncode == 0]
        if not found:
            self.skipTest("no interpreter with greenlets")
        return found

    def test_greenlets_have_no_frames_of_others(self):
        self.script.write_text(GREENLETS)
        for python in self.pythons_with_greenlets():
            done, profile = self.profile(python, self.script, "100", "300",
                                         options=("--mode=exact",))
            self.assertEqual(done.code, 0, done.stderr)
            work = {stack: n for stack, n in self.instructions(profile).items()
                    if n and any(name.startswith("work_") for name in stack)}
            for name in ("first", "second", "third"):
                share = sum(n for stack, n in work.items() if stack[-2:] == (name, f"work_{name}"))
                self.assertAlmostEqual(share / sum(work.values()), 1 / 3, delta=0.01)
            for stack in work:
                self.assertIn(stack[:-2], ((), ("<module>",)))

    def test_sampled_stacks_are_those_of_the_script(self):
        for version, python in self.pythons.items():
            with self.subTest(version=version):
                done, profile = self.profile_until(
                    lambda profile: taken(profile) >= 8,
                    lambda factor: (python, "-S", self.script, str(40 * factor), "20000"),
                    options=(DENSE, "--sample-size=300k"))
                self.assertEqual(done.code, 0, done.stderr)
                sums = self.instructions(profile)
                of_script = sum(n for stack, n in sums.items() if "work" in stack)
                self.assertGreater(of_script, 0.5 * sum(sums.values()))
                for stack, n in sums.items():
                    if n != 0 and "work" in stack:
                        self.assertTrue(any(stack == whole[:len(stack)] for whole in STACKS),
                                        f"{n} instructions in {stack}")

    def test_reports_name_functions_of_scripts(self):
        python = next(iter(self.pythons.values()))
        profile = self.profile_of(python, ["--mode=exact"], 2, 1000)
        self.assertTrue(profile["stacks"])
        lists = self.shadowprof("report", "--by=script", self.profile_path).stdout.decode()
        line = next(line for line in lists.splitlines() if " spin" in line)
        self.assertRegex(line, r"script\.py:4$")
        self.assertIn("Hottest functions of scripts",
                      self.shadowprof("report", self.profile_path).stdout.decode())
        refused = self.shadowprof("annotate", self.profile_path, "heavy")
        self.assertIn("'heavy' is a function of a script", refused.stderr)
        folded = self.shadowprof("export", "--format=folded", self.profile_path).stdout.decode()
        self.assertTrue(re.search(r"<module>;.*work;.*heavy;.*spin;", folded), folded[:2000])


if __name__ == "__main__":
    main()
