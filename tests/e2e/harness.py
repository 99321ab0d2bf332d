"""What the end-to-end tests share: running shadowprof and its victims, reading profiles."""

import atexit
import contextlib
import functools
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

import jsonschema

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHADOWPROF = os.environ.get("SHADOWPROF", str(SOURCE / "build/src/cli/shadowprof"))
VICTIMS = pathlib.Path(os.environ.get("VICTIMS", SOURCE / "build/tests/victims"))
INPUTS = pathlib.Path(os.environ.get("INPUTS", SOURCE / "build/tests/workloads"))
SCHEMA = SOURCE / "docs/profile.schema.json"
SELF_EXEC = SOURCE / "tests/victims/self_exec.sh"

# A run that takes longer than this hangs. The limit allows for sanitizer builds on a busy machine.
HANG_SECONDS = 240

# How many samples a program gets within a budget depends on the machine. Tests that are not about
# the budget ask for a load.
DENSE = "--load=0.5"
SAYS_HOW_DENSE = ("--load=", "--budget=", "--live-timing=", "--mode=exact")


# How much more work a test makes a program do, in turn, until the profile has enough for a check.
WORK_FACTORS = (1, 2, 4, 8, 16)


def taken(profile):
    """Returns how many samples were taken, without those that were due while the program was
    idle."""
    return profile.samples - profile["sampling"]["ended"].get("idle", 0)


def whole(profile):
    """Returns how many samples reached their intended end."""
    ended = profile["sampling"]["ended"]
    return ended.get("size", 0) + ended.get("met", 0)


def cannot_time_loads(profile):
    """Whether stops are too short for this machine to time loads in them, so that more stops
    would not help."""
    counters = profile["sampling"]["counters"]
    return counters["latency_sessions"] > max(100, counters["latency_loads_timed"])


def dense(options):
    """Returns the options, with many samples if the options do not say how many."""
    says = any(str(option).startswith(SAYS_HOW_DENSE) for option in options)
    return [*options] if says else [DENSE, *options]


# The environment variable by which a run's processes are found, whatever becomes of their parents.
TAG = "SHADOWPROF_TEST_RUN"


# This many elements of a list are validated against the schema. A profile has tens of thousands,
# all written by the same code, and validating each would take longer than all other tests.
VALIDATED = 100


def thinned(node):
    """Returns a copy of JSON in which long lists keep only their first elements and a random
    choice of the others."""
    if isinstance(node, dict):
        return {key: thinned(value) for key, value in node.items()}
    if not isinstance(node, list):
        return node
    if len(node) > VALIDATED:
        half = VALIDATED // 2
        node = node[:half] + random.sample(node[half:], half)
    return [thinned(element) for element in node]


def listen_to_signals():
    """Restores default actions of signals and unblocks them, for all processes that we start.
    Under nohup and in the background of a script, a shell ignores signals that tests send."""
    for each in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
                 signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD):
        signal.signal(each, signal.SIG_DFL)
    # Python's own handler, which becomes the default action in the processes that we start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def without_references(node, schema):
    """Returns a part of a schema with references replaced by their definitions: resolving them
    would take longer than the validation."""
    if isinstance(node, list):
        return [without_references(each, schema) for each in node]
    if not isinstance(node, dict):
        return node
    rest = {key: without_references(value, schema) for key, value in node.items()
            if key not in ("$ref", "$defs")}
    if "$ref" not in node:
        return rest
    target = schema
    for step in node["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    target = without_references(target, schema)
    if rest.keys() <= {"description"}:
        return target
    return {**rest, "allOf": [target, *rest.get("allOf", [])]}


@functools.cache
def schema_validator():
    schema = json.loads(SCHEMA.read_text())
    return jsonschema.Draft202012Validator(without_references(schema, schema))


def victim(name):
    return str(VICTIMS / name)


class Completed:
    """A finished process: exit status, or minus the signal that killed it, and outputs."""

    def __init__(self, wait_status, stdout, stderr):
        self.code = os.waitstatus_to_exitcode(wait_status)
        self.dumped_core = os.WIFSIGNALED(wait_status) and os.WCOREDUMP(wait_status)
        self.stdout = stdout
        self.stderr = stderr.decode(errors="replace")


def tagged_processes(tag):
    """Returns the ids of live processes that carry the tag. Zombies carry no tag; see zombies()."""
    wanted = f"{TAG}={tag}".encode()
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


# Indexes of fields of /proc/PID/stat, behind the command.
STATE, PARENT, SESSION, EXIT_CODE = 0, 1, 3, 49
OURS = ("shadowprof", "sp-tracer")


def command_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return ""


def zombies(session):
    """Returns the ids of zombies in a session that are ours: children of shadowprof, and
    replicas, which are killed. The program's own unreaped children do not count."""
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[STATE] != "Z" or int(fields[SESSION]) != session:
                continue
            if int(fields[EXIT_CODE]) == signal.SIGKILL or command_of(fields[PARENT]) in OURS:
                found.add(int(folder.name))
    return found


class ZombieWatch:
    """Looks, during a run, for zombies that nobody reaps."""

    PERIOD_SECONDS = 0.25
    # A zombie that is seen this often in a row counts as forgotten.
    FORGOTTEN = 8

    def __init__(self, session):
        self.session = session
        self.forgotten = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._done.set()
        self._thread.join()

    def _watch(self):
        ages = {}
        while not self._done.wait(self.PERIOD_SECONDS):
            # The run's own leader is a zombie until we wait for it.
            ages = {pid: ages.get(pid, 0) + 1
                    for pid in zombies(self.session) - {self.session}}
            self.forgotten |= {pid for pid, age in ages.items() if age >= self.FORGOTTEN}


class Profile:
    """A profile. Its locations are resolved to addresses of one module's symbols."""

    def __init__(self, data, module_path=None):
        self.data = data
        self.locations = data["locations"]
        self.module = None
        self.symbols = {}
        if module_path is not None:
            self.symbols = read_symbols(module_path)
            wanted = os.path.realpath(module_path)
            self.module = next((i for i, module in enumerate(data["modules"])
                                if os.path.realpath(module["path"]) == wanted), None)
        self._names = {}
        for name, address in self.symbols.items():
            self._names.setdefault(address, name)

    def __getitem__(self, key):
        return self.data[key]

    @property
    def samples(self):
        return self.data["sampling"]["samples"]

    def name(self, location):
        """Returns the symbol that starts at a location of the module, else None."""
        entry = self.locations[location]
        if entry["module"] != self.module:
            return None
        return self._names.get(int(entry["address"], 16))

    def edge_counts(self):
        """Returns {(from address, to name): count} for edges inside the module."""
        counts = {}
        for edge in self.data["edges"]:
            source = self.locations[edge["from"]]
            target = self.name(edge["to"])
            if source["module"] == self.module and target is not None:
                key = (int(source["address"], 16), target)
                counts[key] = counts.get(key, 0) + edge["count"]
        return counts

    def value(self, label, operand):
        """Returns the value profile of the instruction at a label, else None."""
        for entry in self.data["values"]:
            if self.name(entry["at"]) == label and entry["operand"] == operand:
                return entry
        return None


def read_symbols(path):
    """Returns {name: address} of an ELF file's symbol table."""
    lines = subprocess.run(["nm", "--defined-only", path], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    fields = [line.split() for line in lines]
    return {name: int(address, 16) for address, _, name in (f for f in fields if len(f) == 3)}


# Who tests that root runs can be as an ordinary user.
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def may_attach(user):
    """Whether the system lets this user attach to processes at all."""
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    return user == 0 or not scope.exists() or scope.read_text().strip() == "0"


_made = {}


@functools.cache
def shared_folder():
    """Returns a folder for files that all tests of a file read and none changes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shadowprof-e2e-"))
    atexit.register(shutil.rmtree, folder)
    return folder


def once(key, make):
    """Returns the result of `make()`, which only the first call with this key in a test file
    executes."""
    if key not in _made:
        _made[key] = make()
    return _made[key]


class TestCase(unittest.TestCase):
    """Each test has a folder of its own. It fails if it leaves a process running."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        listen_to_signals()
        cls.validator = schema_validator()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shadowprof-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.profile_path = self.folder / "profile.json"

    def start(self, command, cwd=None, env=None, **options):
        """Starts a command in a session of its own, tagged. Returns (Popen, tag)."""
        attaches = command[1:2] == ["attach"]
        if attaches and not may_attach(options.get("user", os.geteuid())):
            self.skipTest("kernel.yama.ptrace_scope forbids it")
        tag = uuid.uuid4().hex
        environment = dict(os.environ, **{TAG: tag}, **(env or {}))
        environment.setdefault("SHADOWPROF_OPTIONS", "")
        process = subprocess.Popen(command, cwd=cwd or self.folder, env=environment,
                                   start_new_session=True, **options)
        return process, tag

    def finish(self, process, tag):
        """Waits for a started process. Fails if it hangs or leaves anything behind."""
        outputs = {}

        def drain(name, stream):
            outputs[name] = stream.read()

        streams = {name: stream for name, stream in
                   (("stdout", process.stdout), ("stderr", process.stderr)) if stream}
        drains = [threading.Thread(target=drain, args=item) for item in streams.items()]
        for thread in drains:
            thread.start()
        alarm = threading.Timer(HANG_SECONDS, self._kill_all, (process.pid, tag))
        alarm.start()
        with ZombieWatch(process.pid) as watch:
            # Popen.wait would hide whether a core was dumped.
            wait_status = os.waitpid(process.pid, 0)[1]
            process.returncode = os.waitstatus_to_exitcode(wait_status)
        hung = not alarm.is_alive()
        alarm.cancel()
        self.assertFalse(hung, f"{process.args} did not end")
        self.assert_nothing_left(process.pid, tag)
        for thread, stream in zip(drains, streams.values()):
            thread.join()
            stream.close()
        self.assertEqual(watch.forgotten, set(), "zombies that nobody reaped during the run")
        return Completed(wait_status, outputs.get("stdout", b""), outputs.get("stderr", b""))

    def run_command(self, command, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return self.finish(*self.start(command, **options))

    def shadowprof(self, *words, **options):
        return self.run_command([SHADOWPROF, *map(str, words)], **options)

    def page_parts(self, *options):
        """Returns {name: data} of the page that `report --html` makes of the profile."""
        done = self.shadowprof("report", "--html=-", *options, self.profile_path)
        self.assertEqual(done.code, 0, done.stderr)
        return {name: json.loads(text) for name, text in re.findall(
            r'<script type="application/json" id="data-([^"]*)">(.*?)</script>',
            done.stdout.decode(errors="replace"), re.DOTALL)}

    def profile(self, *command, options=(), module=None, **more):
        """Runs `shadowprof run` on a command, with many samples if `options` do not say how
        many. Returns (Completed, checked Profile)."""
        done = self.shadowprof("run", "-q", "-o", self.profile_path, *dense(options), "--",
                               *command, **more)
        self.assertTrue(self.profile_path.exists(), f"no profile; {done.code}; {done.stderr}")
        return done, self.read_profile(module)

    def profile_until(self, enough, command, options=(), **more):
        """Calls profile() with twice the work again and again until `enough(profile)`: how many
        samples a program gets depends on the machine. `command(factor)` returns the command for
        that many times the work."""
        for factor in WORK_FACTORS:
            done, profile = self.profile(*command(factor), options=options, **more)
            if done.code != 0 or enough(profile):
                break
        return done, profile

    def read_profile(self, module=None, text=None):
        """Returns the profile that a run wrote, after checking it against the schema and for
        consistency."""
        data = json.loads(self.profile_path.read_text() if text is None else text)
        self.assert_valid(data)
        return Profile(data, module)

    def assert_valid(self, data):
        errors = sorted(self.validator.iter_errors(thinned(data)), key=str)
        self.assertEqual([(error.json_path, error.message[:300]) for error in errors[:3]], [])
        sampling = data["sampling"]
        self.assertEqual(sum(sampling["ended"].values()), sampling["samples"])
        for key in ("edges", "paths", "calls", "values"):
            counts = [entry["count"] for entry in data.get(key, [])]
            self.assertEqual(counts, sorted(counts, reverse=True), f"{key}: not hottest first")
        for entry in data.get("values", []):
            if "invariance" in entry:
                self.assertLessEqual(entry["invariance_lower_bound"], entry["invariance"])

    def assert_sampled_well(self, profile, samples=5):
        """Checks what holds for any run that is long enough."""
        sampling = profile["sampling"]
        ended = sampling["ended"]
        complete = whole(profile)
        self.assertGreaterEqual(complete, samples, ended)
        # Samples that end with the program are whole, too. How many run out of time depends on the
        # machine.
        early = taken(profile) - complete - ended.get("exit", 0) - ended.get("time", 0)
        # While a program is loaded, samples may end early.
        self.assertLessEqual(early, 0.1 * complete + 1, f"samples ended early: {ended}")
        self.assertLess(sampling["single_stepped"], sampling["instructions"] / 1000)

    def assert_nothing_left(self, session, tag):
        """No process of a run survives it. Processes that are being reaped get time, because
        machines are busy."""
        for _ in range(300):
            left, dead = tagged_processes(tag), zombies(session)
            if not left and not dead:
                return
            time.sleep(0.1)
        self._kill_all(session, tag)
        self.fail(f"left behind: processes {left}, zombies {dead}")

    @staticmethod
    def _kill_all(session, tag):
        for pid in {session, *tagged_processes(tag)}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def require_programs(*names):
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        sys.exit(f"not installed: {' '.join(missing)} (./setup installs what the tests need)")


# Tests that take longer than this are listed, with their times, after a file's results.
SLOW_SECONDS = 1
LONGEST_REASON = 300


def processor_seconds():
    """Returns the processor time of this process and of the children that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Results(unittest.TextTestResult):
    """Prints at the end which tests took long, and in one line which test failed first and how
    to run it alone."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.times = []
        self.first_failure = None

    def startTest(self, test):
        super().startTest(test)
        self._start = (time.monotonic(), processor_seconds())

    def stopTest(self, test):
        wall, processor = time.monotonic(), processor_seconds()
        self.times.append((wall - self._start[0], processor - self._start[1], test.id()))
        super().stopTest(test)

    def _failed(self, test, error, part=""):
        if self.first_failure is None:
            text = " ".join(str(error[1]).split())
            reason = f"{error[0].__name__}: {text}" if text else error[0].__name__
            self.first_failure = (test.id(), (part + reason)[:LONGEST_REASON])

    def addFailure(self, test, error):
        self._failed(test, error)
        super().addFailure(test, error)

    def addError(self, test, error):
        self._failed(test, error)
        super().addError(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._failed(test, error, subtest._subDescription() + ": ")
        super().addSubTest(test, subtest, error)

    def addUnexpectedSuccess(self, test):
        self._failed(test, (AssertionError, "it was expected to fail", None))
        super().addUnexpectedSuccess(test)

    def print_times(self):
        slow = sorted((row for row in self.times if row[0] > SLOW_SECONDS), reverse=True)
        for wall, processor, name in slow:
            self.stream.writeln(f"{wall:6.1f} s, {processor:6.1f} of a processor: "
                                f"{name.removeprefix('__main__.')}")

    def print_first_failure(self):
        if self.first_failure is None:
            return
        name = pathlib.Path(sys.argv[0]).stem.removeprefix("test_")
        test, reason = self.first_failure
        # The name is "__main__.Class.test_x", or "setUpClass (__main__.Class)" for all tests of a
        # class.
        for_all = re.fullmatch(r"\w+ \((?:.*\.)?(\w+)\)", test)
        alone = for_all[1] if for_all else test.rpartition(".")[2]
        more = len(self.failures) + len(self.errors) + len(self.unexpectedSuccesses) - 1
        others = f" (and {more} more)" if more > 0 else ""
        self.stream.writeln(f"FAILED e2e-{name}: {alone}: {reason}; alone: "
                            f"tests/e2e/run {options_of_run()}{name} {alone}{others}")


def options_of_run():
    """Returns the options with which tests/e2e/run finds the same programs."""
    def shown(path):
        return os.path.relpath(path, SOURCE) if path.is_relative_to(SOURCE) else path

    build = pathlib.Path(SHADOWPROF).resolve().parents[2]
    options = "" if build == SOURCE / "build" else f"--build-dir {shown(build)} "
    if VICTIMS.resolve() != build / "tests/victims":
        options += f"--victims {shown(VICTIMS.resolve())} "
    return options


def main(**options):
    """Replaces unittest.main()."""
    runner = unittest.TextTestRunner(resultclass=Results, **options)
    result = unittest.main(testRunner=runner, exit=False).result
    result.print_times()
    result.print_first_failure()
    result.stream.flush()
    if result.testsRun == 0 and result.wasSuccessful() and not result.skipped:
        sys.exit("no test has that name")
    sys.exit(not result.wasSuccessful())
