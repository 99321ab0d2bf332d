"""Asks bash itself what the installed file makes it complete."""

import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHADOWPROF = pathlib.Path(os.environ.get("SHADOWPROF", SOURCE / "build/src/cli/shadowprof"))
COMPLETION = SOURCE / "completions/shadowprof.bash"


def completed(*words, before=""):
    """Returns the completions of the last word, which may be empty. `before` is what the shell has
    executed."""
    script = f"{before} source '{COMPLETION}'; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); " \
        "_shadowprof; printf '%s\\n' \"${COMPREPLY[@]}\""
    environment = dict(os.environ, PATH=f"{SHADOWPROF.parent}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-c", script, "bash", *words], env=environment, check=True,
                          capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def help_of(*command):
    return subprocess.run([SHADOWPROF, *command, "--help"], check=True, capture_output=True,
                          text=True).stdout


class Bash(unittest.TestCase):
    def test_all_commands(self):
        commands = set(re.findall(r"^  ([a-z]+)  ", help_of(), re.MULTILINE))
        self.assertGreater(len(commands), 8)
        self.assertLessEqual(commands, set(completed("shadowprof", "")))
        self.assertEqual(completed("shadowprof", "acc"), ["accuracy"])

    def test_all_options_of_each_command(self):
        for command in set(completed("shadowprof", "")) - {"help", "--help", "--version"}:
            with self.subTest(command=command):
                options = {option for line in help_of(command).splitlines()
                           for option in re.findall(r"^  (?:-[a-z],|   ) (--[A-Za-z][A-Za-z0-9-]*)", line)}
                self.assertEqual(set(completed("shadowprof", command, "--")), options)
                self.assertIn("--help", options)

    def test_words_that_options_take(self):
        self.assertEqual(completed("shadowprof", "run", "--mode", "e"), ["exact"])
        self.assertEqual(completed("shadowprof", "run", "--mode", "=", "sh"), ["shadow"])
        self.assertIn("pprof", completed("shadowprof", "export", "--format", ""))
        self.assertEqual(completed("shadowprof", "diff", "--format", "m"), ["markdown"])
        self.assertIn("probes", completed("shadowprof", "export", "--table", "=", ""))
        self.assertEqual(completed("shadowprof", "annotate", "--view", "=", "m"), ["mixed"])
        self.assertEqual(completed("shadowprof", "report", "--by", "str"), ["stream"])
        self.assertEqual(completed("shadowprof", "report", "--sort", "inv"),
                         ["invariant", "invariance"])

    def test_several_words(self):
        self.assertEqual(completed("shadowprof", "report", "--by", "=", "function,pa"),
                         ["function,path"])
        self.assertEqual(completed("shadowprof", "annotate", "--view", "mixed,s"), [])

    def test_what_modes_and_profiles_are_completed_is_accepted(self):
        for option in ("--profiles", "--mode", "--threads", "--follow-forks"):
            for word in completed("shadowprof", "run", option, ""):
                with self.subTest(option=option, word=word):
                    done = subprocess.run([SHADOWPROF, "run", f"{option}={word}", "--help"],
                                          check=False, capture_output=True)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_words_of_the_user_are_no_patterns(self):
        for typed in ("/tmp/a.json", "/y/;1e touch EXECUTED #", "--.*"):
            with self.subTest(typed=typed):
                self.assertNotIn("--by", completed("shadowprof", "report", typed, ""))

    def test_processes_to_attach_to(self):
        self.assertIn(str(os.getpid()), completed("shadowprof", "attach", str(os.getpid())))

    def test_options_of_the_program_are_its_own(self):
        offset = "_command_offset() { COMPREPLY=(from $1); };"
        for options in ([], ["--"], ["-q", "--mode", "=", "exact"], ["-o", "x"], ["--mode", "live"],
                        ["--record-input", "--"]):
            words = ["shadowprof", "run", *options, "ls", "--"]
            with self.subTest(words=words):
                self.assertEqual(completed(*words), [])
                self.assertEqual(completed(*words, before=offset), ["from", str(len(words) - 2)])

    def test_programs(self):
        for options in ([], ["--"], ["-q"], ["-o", "x"]):
            with self.subTest(options=options):
                self.assertIn("bash", completed("shadowprof", "run", *options, "bas"))
        self.assertNotIn("bash", completed("shadowprof", "run", "--mode", "bas"))
        self.assertNotIn("bash", completed("shadowprof", "report", "bas"))


if __name__ == "__main__":
    unittest.main()
