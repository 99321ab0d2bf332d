#!/usr/bin/env python3
"""Runs folders of programs natively and in three modes, and counts the programs that notice it.

tests/reliability/suites.py [--build-dir DIR] [--word WORD] [--user ID] FOLDER...

A folder is a suite. Each executable in it is run without arguments, in an empty folder and a
session of its own, with /dev/null as its input. It is first run natively, twice. It takes part if
it ends within 5 s and does the same both times, and, if there is a word, prints it and has status
0. If its output differs between these runs, numbers are left out of all comparisons. Then it is run
with --load=8, with --mode=exact, and with --mode=exact --follow-forks=yes, for up to 60 s each. A
run is as natively if its status, its output and its errors are. A program that differs is run
again, and counts as one that differs if it differs again.

rr's suite is src/test/*.c, *.cc and x86/*.c but test_lib.c, each compiled alone: gcc -O0 -msse2
-pthread -D_FILE_OFFSET_BITS=64 -DDEBUG, with rr's include, src/preload and third-party/proc-service
folders and the headers that its build generates. The word is EXIT-SUCCESS. Valgrind's suite is
*.c and *.cpp of none/tests, memcheck/tests and their folders amd64, linux, amd64-linux and common,
each compiled alone: gcc -O0 -fno-builtin -fcommon, and a config.h that says yes to most questions.
Instruction tests (*.def) become C by gen_insn_test.pl. What does not compile so is tried without
PIE, with -O1 and AVX2, and as C89, and is else left out.

Prints a row for each suite and mode, and on standard error why programs take no part, and what
differs. All that a program prints is kept with --keep. With --results, results are kept in a file,
and a mode in which a program was run before is not run again.
"""
import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MODES = {
    "sampled": ["--load=8"],
    "exact": ["--mode=exact"],
    "exact, children": ["--mode=exact", "--follow-forks=yes"],
}
NUMBER = re.compile(rb"(0x)?[0-9a-f]*[0-9][0-9a-f]*")
NATIVE_LIMIT_S = 5
MARK = "SUITES_RUN"  # a variable of the environment that tells whose process it is


@dataclasses.dataclass
class Run:
    status: int | None  # None if it took too long
    output: bytes
    errors: bytes
    seconds: float
    notes: list[str]

    def visible(self, with_numbers):
        texts = (self.output, self.errors)
        return (self.status, *(text if with_numbers else NUMBER.sub(b"0", text) for text in texts))

    def difference(self, native, with_numbers):
        """Returns how a run differs from a native one, or None."""
        own, expected = self.visible(with_numbers), native.visible(with_numbers)
        if own == expected:
            return None
        if self.status is None:
            return "takes too long"
        if self.status != native.status:
            return f"status {self.status}, natively {native.status}"
        return "other output" if own[1] != expected[1] else "other errors"


def end_all(session, mark):
    """Ends the processes that a run has left behind, also those that start others meanwhile."""
    for _ in range(100):
        found = 0
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "stat").read_text().rpartition(")")[2].split()
                if words[0] not in "ZX" and (int(words[3]) == session or mark in
                                             (folder / "environ").read_bytes().split(b"\0")):
                    os.kill(int(folder.name), signal.SIGKILL)
                    found += 1
            except OSError:
                pass  # it has ended
        if found == 0:
            return


class Runner:
    def __init__(self, options, scratch):
        self.shadowprof = str(options.build_dir / "src/cli/shadowprof")
        self.options = options
        self.scratch = scratch
        self.count = 0

    def new_folder(self, name):
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if self.options.user is not None:
            os.chown(folder, self.options.user, self.options.user)
        return folder

    def run(self, program, mode=None):
        self.count += 1
        mark = f"{os.getpid()}.{self.count}"
        home = self.new_folder("home")
        profile = self.new_folder("profile") / "profile.json"  # not where the program may see it
        user = self.options.user
        who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        words = [str(program)]
        if mode is not None:
            words = [self.shadowprof, "run", "-q", "-o", str(profile), *MODES[mode], "--", *words]
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C",
                       "TMPDIR": str(home), MARK: mark}
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            start = time.monotonic()
            process = subprocess.Popen(words, cwd=home, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=errors, start_new_session=True, **who)
            try:
                status = process.wait(NATIVE_LIMIT_S if mode is None else self.options.limit)
            except subprocess.TimeoutExpired:
                status = None
            seconds = time.monotonic() - start
            end_all(process.pid, f"{MARK}={mark}".encode())
            process.wait()
            for file in (output, errors):
                file.seek(0)
            result = Run(status, output.read(1 << 20), errors.read(1 << 20), seconds, [])
        if profile.exists():
            result.notes = json.loads(profile.read_text()).get("notes", [])
        if self.options.keep:
            self.keep(program, mode, mark, result)
        return result

    def keep(self, program, mode, mark, run):
        folder = self.options.keep / program.parent.name / program.name
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{(mode or 'native').replace(', ', '-')}.{mark}"
        (folder / f"{name}.output").write_bytes(run.output)
        (folder / f"{name}.errors").write_bytes(run.errors)
        (folder / f"{name}.status").write_text(
            "\n".join([f"{run.status} {run.seconds:.2f} s", *run.notes, ""]))

    def natively(self, program):
        """Returns a run, whether its numbers are compared, and why it takes no part, if so."""
        word = self.options.word
        runs = []
        for _ in range(2):
            run = self.run(program)
            if run.status is None:
                return run, True, "takes too long"
            if word and (run.status != 0 or word.encode() not in run.output):
                return run, True, "fails, or does not print the word"
            runs.append(run)
        for with_numbers in (True, False):
            if runs[0].visible(with_numbers) == runs[1].visible(with_numbers):
                return runs[0], with_numbers, None
        return runs[0], True, "does not do the same each time"

    def examine(self, program, modes):
        native, with_numbers, dropped = self.natively(program)
        result = {"suite": program.parent.name, "program": program.name, "dropped": dropped,
                  "native": [native.status, round(native.seconds, 2)], "modes": {}}
        for mode in modes if dropped is None else []:
            runs = [self.run(program, mode)]
            if runs[0].difference(native, with_numbers):
                runs.append(self.run(program, mode))
            differences = [run.difference(native, with_numbers) for run in runs]
            result["modes"][mode] = {"differs": None not in differences, "runs": differences,
                                     "seconds": round(runs[0].seconds, 2), "notes": runs[0].notes}
        return result


def describe(result):
    name = f"{result['suite']}/{result['program']}"
    if result["dropped"]:
        print(f"{name}: takes no part: {result['dropped']}", file=sys.stderr)
    for mode, found in result["modes"].items():
        if found["runs"][0] is not None:
            runs = ", ".join(run or "as natively" for run in found["runs"])
            print(f"{name}: {mode}: {'differs' if found['differs'] else 'noise'}: {runs}",
                  file=sys.stderr)


def print_table(results, modes):
    print("| suite | programs | run natively well | mode | as natively | differ |\n|" + 6 * "---|")
    for suite in dict.fromkeys(result["suite"] for result in results):
        programs = [result for result in results if result["suite"] == suite]
        for mode in modes:
            found = [result["modes"][mode] for result in programs if mode in result["modes"]]
            differ = sum(each["differs"] for each in found)
            print(f"| {suite} | {len(programs)} | {len(found)} | {mode} |"
                  f" {len(found) - differ} | {differ} |")
        reasons = collections.Counter(result["dropped"] for result in programs)
        for reason, count in reasons.most_common():
            print(f"{suite}: {count} {reason or 'take part'}", file=sys.stderr)


def programs_of(folder, names):
    return [path for path in sorted(folder.iterdir())
            if path.is_file() and os.access(path, os.X_OK) and ".so" not in path.suffixes
            and re.search(names, path.name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--word", help="what a program prints that has succeeded")
    parser.add_argument("--user", type=int, help="the number of a user who runs the programs")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for all that is printed")
    parser.add_argument("--results", type=pathlib.Path, help="a file for the results")
    parser.add_argument("--modes", default=";".join(MODES), help="separated by semicolons")
    parser.add_argument("--names", default="", help="a regular expression of programs' names")
    parser.add_argument("--limit", type=float, default=60, help="of a mode, in seconds")
    parser.add_argument("folders", type=pathlib.Path, nargs="+", metavar="FOLDER")
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    results = {}
    if options.results and options.results.exists():
        for result in map(json.loads, options.results.read_text().splitlines()):
            results[result["suite"], result["program"]] = result
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        scratch = pathlib.Path(name)
        scratch.chmod(0o755)
        runner = Runner(options, scratch)
        for folder in options.folders:
            for program in programs_of(folder.resolve(), options.names):
                before = results.get((program.parent.name, program.name))
                done = before["modes"] if before else {}
                modes = [mode for mode in options.modes.split(";") if mode not in done]
                if not modes or before and before["dropped"]:
                    continue
                result = runner.examine(program, modes)
                result["modes"] = {**done, **result["modes"]}
                results[program.parent.name, program.name] = result
                describe(result)
                if options.results:
                    with open(options.results, "a") as file:
                        file.write(json.dumps(result) + "\n")
    print_table(list(results.values()), options.modes.split(";"))


if __name__ == "__main__":
    main()
