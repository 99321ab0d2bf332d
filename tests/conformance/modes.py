"""How a conformance program is run in each mode, and how the outcome is compared with a native
run."""

import contextlib
import json
import os
import pathlib
import re
import sys
import tempfile
import time

from execution import Run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import SHADOWPROF, may_attach  # noqa: E402

NATIVE_SECONDS = 20
SKIPPED = 77

SAMPLES = ["--load=8", "--sample-size=20k"]
PROFILED = {
    "sampled": ["run", "-q", *SAMPLES],
    "bursts": ["run", "-q", "--live-timing=1ms/3ms"],
    "exact": ["run", "-q", "--mode=exact"],
    "family": ["run", "-q", "--mode=exact", "--follow-forks=yes"],
}
NAMES = ("native", *PROFILED, "verify", "attached")

OURS = re.compile(r"shadowprof: ")
ENDED_EARLY = re.compile(r"shadowprof: verify: not verified to the end: (.*)")
# By design: a program is followed no further by verify once it has threads, and by exact mode when
# the emulator cannot have what it shares with others, or cannot see to its threads.
MAY_END_EARLY = (
    "it started a second thread",
    "it executes another program while it has several threads",
    "it handles page faults itself",
    "it waits for several futexes at once",
    "it maps memory that others may write to, and whose file cannot be opened here",
    "a child runs in the same memory at the same time",
)
COMPARED = re.compile(r"shadowprof: verify: (\d+) intervals? .* (\d+) diverged")


def command_of(mode, program, binary, profile="PROFILE"):
    """Returns the command to execute, as words."""
    own = [str(binary), *program.arguments]
    if mode == "native":
        return own
    if mode == "verify":
        return [SHADOWPROF, "verify", "--", *own]
    if mode == "attached":
        return [SHADOWPROF, "attach", "-q", *SAMPLES, "-o", str(profile), "PID"]
    return [SHADOWPROF, *PROFILED[mode], "-o", str(profile), "--", *own]


def first_difference(what, expected, found):
    """Returns how outputs differ, as a list of sentences; empty if they do not."""
    if expected == found:
        return []
    rows = [text.decode(errors="backslashreplace").splitlines() for text in (expected, found)]
    for number in range(max(map(len, rows)) + 1):
        wanted, had = (lines[number] if number < len(lines) else None for lines in rows)
        if wanted != had:
            return [f"{what}, line {number + 1}: {shown(wanted)} natively, {shown(had)} here"]
    return [f"{what}: its end of line"]


def shown(line):
    return "nothing" if line is None else f'"{line[:160]}"'


def split_messages(stderr):
    """Splits standard error into the program's own lines and shadowprof's."""
    own, ours = [], []
    for line in stderr.decode(errors="backslashreplace").splitlines(keepends=True):
        (ours if OURS.match(line) else own).append(line)
    return "".join(own).encode(errors="backslashreplace"), "".join(ours)


def status_text(status):
    return f"killed by signal {-status}" if status < 0 else f"status {status}"


def differences(mode, expected, outcome):
    """Returns how a run differs from the native one."""
    own, ours = split_messages(outcome.stderr)
    faults = list(outcome.faults)
    if mode != "verify" and outcome.status != expected.status:
        faults.append(f"{status_text(outcome.status)}, natively {status_text(expected.status)}")
    faults += first_difference("standard error", expected.stderr, own)
    faults += first_difference("standard output", expected.stdout, outcome.stdout)
    if faults and ours:
        faults.append(f"it said: {ours.splitlines()[0].removeprefix('shadowprof: ')}")
    return faults


def profile_faults(program, profile, must_be_compared):
    """Returns what is wrong with the file that must be a profile."""
    try:
        data = json.loads(profile.read_text())
        exact = data["sampling"].get("exact", {})
    except FileNotFoundError:
        return ["no profile was written"]
    except (ValueError, KeyError) as error:
        return [f"the profile cannot be read: {error}"]
    if not must_be_compared:
        return []
    if not exact.get("intervals"):
        return ["no interval was compared"]
    return exact_faults(program, exact["diverged"], exact.get("stopped_early"))


def exact_faults(program, diverged, ended_early):
    faults = [f"{diverged} intervals diverged"] if diverged and not program.diverges else []
    # Of a child, it says which.
    reason = re.sub(r"^process \d+ \(.*?\): ", "", ended_early or "")
    if reason and not reason.startswith(MAY_END_EARLY):
        faults.append(f"not compared to the end: {ended_early}")
    return faults


def verify_faults(program, outcome):
    """Returns what is wrong with the message of `verify` and its status, which is not the
    program's."""
    text = outcome.stderr.decode(errors="replace")
    compared, early = COMPARED.search(text), ENDED_EARLY.search(text)
    if compared is None or compared[1] == "0":
        return ["it did not say what it compared"]
    diverged = int(compared[2])
    faults = exact_faults(program, diverged, early and early[1])
    if outcome.status != (1 if diverged or early else 0):
        faults.append(status_text(outcome.status))
    return faults


def run_under(mode, program, binary, limits):
    """Returns the outcome of a run under shadowprof. Its faults include violations of rules of
    this mode."""
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        profile = pathlib.Path(folder, "profile.json")
        outcome = Run(command_of(mode, program, binary, profile),
                      program.input).finish(limits)
        if mode == "verify":
            outcome.faults += verify_faults(program, outcome)
        else:
            outcome.faults += profile_faults(program, profile, mode in ("exact", "family"))
        return outcome


def is_traced(pid):
    with contextlib.suppress(OSError):
        return re.search(r"^TracerPid:\t[^0]", pathlib.Path(f"/proc/{pid}/status").read_text(),
                         re.MULTILINE) is not None
    return False


def wait_until_traced(target, profiler):
    """Returns when the profiler has attached to the target, or when it no longer can."""
    end = time.monotonic() + NATIVE_SECONDS
    while time.monotonic() < end and profiler.process.poll() is None:
        if is_traced(target.process.pid):
            return
        time.sleep(0.002)


def run_attached(program, binary, launcher, limits):
    """Returns the outcome of a native run that is attached to before its first instruction."""
    gate, opening = os.pipe()
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        profile = pathlib.Path(folder, "profile.json")
        target = Run([launcher, str(gate), binary, *program.arguments], program.input, [gate])
        os.close(gate)
        command = command_of("attached", program, binary, profile)
        profiler = Run([*command[:-1], str(target.process.pid)])
        wait_until_traced(target, profiler)
        os.close(opening)
        outcome = target.finish(limits)
        own = profiler.finish(limits)
        outcome.faults += own.faults + profile_faults(program, profile, False)
        if own.status != 0:
            outcome.faults.append(f"attach ended with {status_text(own.status)}")
        outcome.stderr += own.stderr
        return outcome


def native_faults(program, outcome):
    """Returns the reasons why the native run cannot serve for comparison."""
    faults = list(outcome.faults)
    if outcome.status != program.status:
        faults.append(f"{status_text(outcome.status)}, not {status_text(program.status)}")
        faults += outcome.stderr.decode(errors="backslashreplace").splitlines()[:1]
    return faults


def refusal(mode):
    """Returns why nothing can be run in this mode here, or nothing."""
    if mode == "attached" and not may_attach(os.geteuid()):
        return "kernel.yama.ptrace_scope forbids it"
    return ""
