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

# A run that takes longer than this hangs. Generous: sanitizer builds on a busy machine.
HANG_SECONDS = 240

# How many samples a program gets within its budget is a matter of the machine. Tests that are not
# about that ask for a load.
DENSE = "--load=0.5"
SAYS_HOW_DENSE = ("--load=", "--budget=", "--live-timing=", "--mode=exact")


# How often a test does its work again, if too little was seen of it to say anything.
WORK_FACTORS = (1, 2, 4, 8, 16)


def taken(profile):
    """How many samples were taken: the program ran when they were due."""
    return profile.samples - profile["sampling"]["ended"].get("idle", 0)


def whole(profile):
    """How many samples have all that they were to have."""
    ended = profile["sampling"]["ended"]
    return ended.get("size", 0) + ended.get("met", 0)


def cannot_time_loads(profile):
    """True where a stop is too short for the machine to time a load in it: more of them will not
    help."""
    counters = profile["sampling"]["counters"]
    return counters["latency_sessions"] > max(100, counters["latency_loads_timed"])


def dense(options):
    """The options, with many samples where they say nothing of that."""
    says = any(str(option).startswith(SAYS_HOW_DENSE) for option in options)
    return [*options] if says else [DENSE, *options]


# The variable by which a run's processes are known, whatever becomes of their parents.
TAG = "SHADOWPROF_TEST_RUN"


# The schema is held against this many elements of a list: a profile has tens of thousands, all written
# by the same code, and to look at each took longer than everything else that the tests do.
VALIDATED = 100


def thinned(node):
    """A copy of JSON in which long lists have the first elements and others drawn at random."""
    if isinstance(node, dict):
        return {key: thinned(value) for key, value in node.items()}
    if not isinstance(node, list):
        return node
    if len(node) > VALIDATED:
        half = VALIDATED // 2
        node = node[:half] + random.sample(node[half:], half)
    return [thinned(element) for element in node]


def listen_to_signals():
    """What is ignored or blocked here is so in all that we start: under nohup, and in the background of
    a script, a shell ignores signals that tests send."""
    for each in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
                 signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD):
        signal.signal(each, signal.SIG_DFL)
    # As Python has it; those that we start have the default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def without_references(node, schema):
    """A part of a schema with definitions in the places that refer to them: to look them up took
    longer than to validate."""
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
    """A finished process: exit status, or minus the signal that killed it; outputs."""

    def __init__(self, wait_status, stdout, stderr):
        self.code = os.waitstatus_to_exitcode(wait_status)
        self.dumped_core = os.WIFSIGNALED(wait_status) and os.WCOREDUMP(wait_status)
        self.stdout = stdout
        self.stderr = stderr.decode(errors="replace")


def tagged_processes(tag):
    """The ids of live processes that carry the tag. A zombie carries nothing; see zombies()."""
    wanted = f"{TAG}={tag}".encode()
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


# In /proc/PID/stat, behind the command.
STATE, PARENT, SESSION, EXIT_CODE = 0, 1, 3, 49
OURS = ("shadowprof", "sp-tracer")


def command_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def zombies(session):
    """The ids of zombies in a session that are ours: children of shadowprof, and replicas, which
    are killed. When a program reaps its own children is its own business."""
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if fields[STATE] != "Z" or int(fields[SESSION]) != session:
                continue
            if int(fields[EXIT_CODE]) == signal.SIGKILL or command_of(fields[PARENT]) in OURS:
                found.add(int(folder.name))
    return found


class ZombieWatch:
    """Looks, while a run lasts, for zombies that nobody reaps."""

    PERIOD_SECONDS = 0.25
    # A zombie seen this often in a row has been forgotten.
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
    """A profile with its locations resolved to addresses of one module's symbols."""

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
        """The symbol that starts at a location of the module, else None."""
        entry = self.locations[location]
        if entry["module"] != self.module:
            return None
        return self._names.get(int(entry["address"], 16))

    def edge_counts(self):
        """{(from address, to name): count} for edges inside the module."""
        counts = {}
        for edge in self.data["edges"]:
            source = self.locations[edge["from"]]
            target = self.name(edge["to"])
            if source["module"] == self.module and target is not None:
                key = (int(source["address"], 16), target)
                counts[key] = counts.get(key, 0) + edge["count"]
        return counts

    def value(self, label, operand):
        """The value profile of the instruction at a label, else None."""
        for entry in self.data["values"]:
            if self.name(entry["at"]) == label and entry["operand"] == operand:
                return entry
        return None


def read_symbols(path):
    """{name: address} of an ELF file's symbol table."""
    lines = subprocess.run(["nm", "--defined-only", path], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    fields = [line.split() for line in lines]
    return {name: int(address, 16) for address, _, name in (f for f in fields if len(f) == 3)}


def may_attach(user):
    """What the system lets this user do, at all."""
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    return user == 0 or not scope.exists() or scope.read_text().strip() == "0"


_made = {}


@functools.cache
def shared_folder():
    """For what all tests of a file read and none changes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shadowprof-e2e-"))
    atexit.register(shutil.rmtree, folder)
    return folder


def once(key, make):
    """What `make()` returns, which is done only for the first of a file's tests that asks for it."""
    if key not in _made:
        _made[key] = make()
    return _made[key]


class TestCase(unittest.TestCase):
    """Each test has a folder of its own; what it leaves running is a failure."""

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
            # Not Popen.wait: it hides whether a core was dumped.
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

    def profile(self, *command, options=(), module=None, **more):
        """Runs `shadowprof run` on a command, with many samples if `options` say nothing of that.
        Returns (Completed, checked Profile)."""
        done = self.shadowprof("run", "-q", "-o", self.profile_path, *dense(options), "--",
                               *command, **more)
        self.assertTrue(self.profile_path.exists(), f"no profile; {done.code}; {done.stderr}")
        return done, self.read_profile(module)

    def profile_until(self, enough, command, options=(), **more):
        """The same, again and again with twice the work, until `enough(profile)`: how much is
        sampled while a program does its work is the machine's choice. `command(factor)` says how
        to do so many times the work."""
        for factor in WORK_FACTORS:
            done, profile = self.profile(*command(factor), options=options, **more)
            if done.code != 0 or enough(profile):
                break
        return done, profile

    def read_profile(self, module=None, text=None):
        """The profile that a run wrote, valid against the schema and in itself."""
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
        """What holds for any run that is long enough."""
        sampling = profile["sampling"]
        ended = sampling["ended"]
        complete = whole(profile)
        self.assertGreaterEqual(complete, samples, ended)
        # What ends with the program is whole, too. What has no time is the machine's choice.
        early = taken(profile) - complete - ended.get("exit", 0) - ended.get("time", 0)
        # While a program is loaded, samples may end early.
        self.assertLessEqual(early, 0.1 * complete + 1, f"samples ended early: {ended}")
        self.assertLess(sampling["single_stepped"], sampling["instructions"] / 1000)

    def assert_nothing_left(self, session, tag):
        """No process of a run survives it. What is being reaped gets time, as machines are busy."""
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


# A test that takes longer than this is named, with its time, behind its file's results.
SLOW_SECONDS = 1
LONGEST_REASON = 300


def processor_seconds():
    """Of this process and of those that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Results(unittest.TextTestResult):
    """Says in the end which tests took long, and in one line which failed first and how to run it
    alone."""

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
        # "__main__.Class.test_x", or "setUpClass (__main__.Class)", which a class has for all tests.
        for_all = re.fullmatch(r"\w+ \((?:.*\.)?(\w+)\)", test)
        alone = for_all[1] if for_all else test.rpartition(".")[2]
        more = len(self.failures) + len(self.errors) + len(self.unexpectedSuccesses) - 1
        others = f" (and {more} more)" if more > 0 else ""
        self.stream.writeln(f"FAILED e2e-{name}: {alone}: {reason}; alone: "
                            f"tests/e2e/run {options_of_run()}{name} {alone}{others}")


def options_of_run():
    """What tests/e2e/run must be told to find the same programs."""
    def shown(path):
        return os.path.relpath(path, SOURCE) if path.is_relative_to(SOURCE) else path

    build = pathlib.Path(SHADOWPROF).resolve().parents[2]
    options = "" if build == SOURCE / "build" else f"--build-dir {shown(build)} "
    if VICTIMS.resolve() != build / "tests/victims":
        options += f"--victims {shown(VICTIMS.resolve())} "
    return options


def main(**options):
    """Instead of unittest.main()."""
    runner = unittest.TextTestRunner(resultclass=Results, **options)
    result = unittest.main(testRunner=runner, exit=False).result
    result.print_times()
    result.print_first_failure()
    result.stream.flush()
    if result.testsRun == 0 and result.wasSuccessful() and not result.skipped:
        sys.exit("no test has that name")
    sys.exit(not result.wasSuccessful())
