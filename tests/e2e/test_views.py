"""All views of a profile agree on a function's instructions, calls and entries."""

import collections
import csv
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from harness import SHADOWPROF, SOURCE, TestCase, main, once, victim

sys.path.insert(0, str(SOURCE / "bench"))
import against_callgrind  # noqa: E402  (found through the line above)
import callgrind_file  # noqa: E402  (the same)

# Ten programs that everybody has on Debian, on inputs that take some million instructions.
PROGRAMS = {
    "awk": ["mawk", "{ n[$1] += length($2) } END { for (w in n) s += n[w]; print s }", "text.txt"],
    "bzip2": ["bzip2", "-9", "-k", "-c", "text.txt"],
    "gzip": ["gzip", "-9", "-c", "text.txt"],
    "lua": ["lua5.4", "-e", "local t = {} for i = 1, 9000 do t[i % 99] = i .. '' end print(#t)"],
    "od": ["od", "-c", "text.txt"],
    "perl": ["perl", "-ne", "$n{$_}++ for split; END { print scalar(keys %n) }", "text.txt"],
    "sed": ["sed", "-n", "s/[aeiou]\\+/<&>/gp", "text.txt"],
    "sort": ["sort", "--parallel=1", "text.txt"],
    "sqlite": ["sqlite3", ":memory:",
               "with recursive s(i) as (select 1 union all select i + 1 from s where i < 3000)"
               " select sum(i * 7919 % 101) from s"],
    "xz": ["xz", "-0", "-T1", "-c", "text.txt"],
}
# Addresses differ in valgrind. Lua derives hash seeds from addresses, and perl checks whether its
# arguments and its environment are adjacent.
INCOMPARABLE = ("lua", "perl")
# A block that runs on into the next function counts as a whole in stacks, and by address in edges.
LONGEST_BLOCK = 64
# Instructions behind a system call that never returns, up to the next branch.
BEHIND_EXIT = 8


def write_text(path):
    path.write_text("".join(f"word{i * 7919 % 977} azure{i % 13} quartz {i * i % 4999}\n"
                            for i in range(1500)))


class Protobuf:
    """The fields of a message: {number: [value]}."""

    def __init__(self, data):
        self.fields, self._data, self._at = collections.defaultdict(list), data, 0
        while self._at < len(data):
            key = self._varint()
            if key & 7 == 0:
                self.fields[key >> 3].append(self._varint())
            else:
                assert key & 7 == 2, "no other kinds of fields are written"
                size = self._varint()
                self.fields[key >> 3].append(data[self._at:self._at + size])
                self._at += size

    def _varint(self):
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def packed(self, number):
        """Returns the numbers of a packed repeated field."""
        values = []
        for each in self.fields[number]:
            values += [each] if isinstance(each, int) else Protobuf.numbers(each)
        return values

    @staticmethod
    def numbers(data):
        reader = Protobuf(b"")
        reader._data = data
        values = []
        while reader._at < len(data):
            values.append(reader._varint())
        return values


class Views(TestCase):
    def export(self, form, *options):
        done = self.shadowprof("export", f"--format={form}", *options, self.profile_path)
        self.assertEqual(done.code, 0, done.stderr)
        return done.stdout

    def csv_table(self, table):
        text = self.export("csv", f"--table={table}").decode(errors="replace")
        return list(csv.DictReader(io.StringIO(text)))


class Tails(Views):
    """Views of the victim `tails`, which has the true counts."""

    ROUNDS = 1000
    TRUTH = {"tails_cold": (2 * ROUNDS, ROUNDS), "tails_hot": (6 * ROUNDS, 3 * ROUNDS // 2),
             "tails_maybe": (5 * ROUNDS // 2, ROUNDS), "tails_split": (4 * ROUNDS, ROUNDS),
             "tails_split_far": (2 * ROUNDS, ROUNDS), "abs@plt": (None, ROUNDS),
             "abs": (None, ROUNDS)}

    def setUp(self):
        super().setUp()
        done, self.seen = self.profile(victim("tails"), str(self.ROUNDS), options=("--mode=exact",))
        self.assertEqual(done.code, 0, done.stderr)

    def test_instructions_and_entries_belong_to_the_function_that_was_jumped_to(self):
        found = {row["function"]: row for row in self.csv_table("functions")}
        for name, (instructions, entries) in self.TRUTH.items():
            self.assertTrue(name in found, name)
            self.assertEqual(int(found[name]["entries"]), entries, name)
            if instructions is not None:
                self.assertEqual(int(found[name]["instructions"]), instructions, name)

    def test_calls_through_the_linkage_table_are_calls_of_the_function_behind(self):
        calls = collections.Counter()
        for row in self.csv_table("calls"):
            calls[row["site_function"], row["callee_function"]] += int(row["count"])
        self.assertGreaterEqual(calls["tails_run", "abs"], self.ROUNDS)
        self.assertEqual(calls["tails_run", "abs@plt"], 0)
        self.assertEqual(calls["tails_run", "tails_cold"], self.ROUNDS)

    def test_functions_that_are_only_jumped_to_can_be_annotated(self):
        done = self.shadowprof("annotate", self.profile_path, "tails_hot")
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn(b"tails_hot", done.stdout)


class RealPrograms(Views):
    """Reads each view into {function: instructions}. Functions of the same name count as one."""

    maxDiff = 1500

    def setUp(self):
        super().setUp()
        write_text(self.folder / "text.txt")

    def known(self, counts):
        """Drops code that is in no function and is named after its module."""
        return collections.Counter({name: count for name, count in counts.items()
                                    if count and name not in self.modules})

    def of_csv(self, column):
        counts = collections.Counter()
        for row in self.csv_table("functions"):
            counts[row["function"]] += int(row[column])
        return self.known(counts)

    def of_folded(self):
        counts = collections.Counter()
        for line in self.export("folded").decode(errors="replace").splitlines():
            stack, _, count = line.rpartition(" ")
            counts[stack.rpartition(";")[2]] += int(count)
        return self.known(counts)

    def of_speedscope(self):
        data = json.loads(self.export("speedscope"))
        frames = data["shared"]["frames"]
        counts = collections.Counter()
        for each in data["profiles"]:
            for stack, weight in zip(each["samples"], each["weights"]):
                counts[frames[stack[-1]]["name"]] += weight
        return self.known(counts)

    def of_pprof(self):
        data = Protobuf(gzip.decompress(self.export("pprof", "-o", "-"))).fields
        strings = [each.decode(errors="replace") for each in data[6]]
        names = {each.fields[1][0]: strings[each.fields[2][0]] for each in map(Protobuf, data[5])}
        functions = {}
        for location in map(Protobuf, data[4]):
            line = Protobuf(location.fields[4][-1])
            functions[location.fields[1][0]] = names[line.fields[1][0]]
        counts = collections.Counter()
        for sample in map(Protobuf, data[2]):
            counts[functions[sample.packed(1)[0]]] += sample.packed(2)[0]
        return self.known(counts)

    def of_html(self):
        """Returns (instructions by stacks, entries, executions of each instruction by edges)."""
        parts = self.page_parts("--no-source")
        paths = [row[1] for row in parts["functions"]["modules"]["rows"]]
        table = parts["functions"]["functions"]
        rows = [dict(zip(table["columns"], row)) for row in table["rows"]]
        own, entries, code = (collections.Counter() for _ in range(3))
        for number, row in enumerate(rows):
            name = row["name"] + (row["arguments"] or "")
            own[name] += row["self"]
            entries[name] += row["entries"]
            if row["code"]:
                table = parts[f"code-{number}"]["code"]
                column = table["columns"].index("executions")
                for line in table["rows"]:
                    if len(line) > column + 1:  # not a row for instructions that were left out
                        code[paths[row["module"]], int(line[0], 16)] = line[column] or 0
        return self.known(own), self.known(entries), code

    def of_callgrind(self):
        """Returns (instructions, calls, the parsed file)."""
        file = callgrind_file.CallgrindFile(
            self.export("callgrind").decode(errors="replace").splitlines(True))
        executed, calls = collections.Counter(), collections.Counter()
        for place, count in file.executed.items():
            executed[file.functions[place]] += count
        for (_, callee), count in file.calls.items():
            calls[file.functions[callee]] += count
        return self.known(executed), self.known(calls), file

    def rounded(self, text):
        number, _, unit = text.partition(" ")
        return float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[unit]

    def of_report(self):
        done = self.shadowprof("report", "--by=function", "--top=0", self.profile_path,
                               env={"COLUMNS": "300"})
        self.assertEqual(done.code, 0, done.stderr)
        counts = collections.Counter()
        for line in done.stdout.decode(errors="replace").splitlines():
            row = re.fullmatch(r" *\S+% +([\d.]+(?: [kMG])?)  (\S+) .*", line)
            if row:
                counts[row[2]] += self.rounded(row[1])
        return self.known(counts)

    def of_annotate(self):
        """Returns the executions of the instructions of the ten hottest functions."""
        done = self.shadowprof("annotate", "--view=disassembly", "--top=10", "--all",
                               self.profile_path, "*", env={"COLUMNS": "300"})
        self.assertEqual(done.code, 0, done.stderr)
        counts, module = {}, None
        for line in done.stdout.decode(errors="replace").splitlines():
            title = re.fullmatch(r"  (\S+), from 0x[\da-f]+ on", line)
            row = re.match(r" *([\d.]+(?: [kMG])?) +\S+%  ?([\da-f]+)  ", line)
            if title:
                module = title[1]
            elif row:
                counts[module, int(row[2], 16)] = self.rounded(row[1])
        return counts

    def assert_about(self, found, truth, what):
        """Compares approximately: views show three digits of a count, in annotated code for each
        instruction."""
        for name, count in found.items():
            self.assertAlmostEqual(count, truth[name], delta=0.01 * truth[name] + 1,
                                   msg=f"{what}: {name}")

    def assert_same(self, found, truth, what, allowed=0):
        different = {name: (found[name], truth[name]) for name in found.keys() | truth.keys()
                     if abs(found[name] - truth[name]) > allowed}
        self.assertEqual(different, {}, what)

    def check_views(self):
        own, entries = self.of_csv("instructions"), self.of_csv("entries")
        self.assertGreater(own.total(), 100_000)
        self.assert_same(self.of_folded(), own, "folded")
        self.assert_same(self.of_speedscope(), own, "speedscope")
        self.assert_same(self.of_pprof(), own, "pprof")
        report = self.of_report()
        self.assertEqual(report.keys(), own.keys())
        self.assert_about(report, own, "report")
        html_own, html_entries, html_code = self.of_html()
        self.assert_same(html_own, own, "html")
        self.assert_same(html_entries, entries, "html, entries")
        executed, calls, file = self.of_callgrind()
        self.assertTrue(html_code)
        self.assert_same(html_code, collections.Counter(
            {place: file.executed[place] for place in html_code}), "code in html")
        annotated = self.of_annotate()
        self.assertTrue(annotated)
        self.assert_about(annotated, {(pathlib.PurePath(path).name, address): count
                                      for (path, address), count in file.executed.items()},
                          "annotate")
        fallen = self.fallen_into(file)
        self.assert_same(executed, own, "callgrind",
                         BEHIND_EXIT + LONGEST_BLOCK * fallen.total())
        self.check_entries(calls, entries, fallen.keys() | self.jumped_into())

    def fallen_into(self, file):
        """Returns {function: how often it was entered without a branch}."""
        fallen = collections.Counter()
        for row in self.csv_table("functions"):
            executed = file.executed[row["module"], int(row["address"], 0)]
            fallen[row["function"]] += max(0, executed - int(row["entries"])
                                           - int(row["back_edges"]))
        self.assertLess(fallen.total(), 100)
        return +fallen

    def jumped_into(self):
        """Returns functions that others jump into behind their first instruction. Such a jump is
        no entry, but a call of the jumping function counts as a caller."""
        rows = self.csv_table("edges")
        starts = {(row["module"], row["address"]) for row in self.csv_table("functions")}
        return {row["to_function"] for row in rows
                if row["kind"] in ("taken", "fall-through", "jump", "indirect")
                and row["from_function"] != row["to_function"]
                and (row["to_module"], row["to_address"]) not in starts}

    def check_entries(self, calls, entries, otherwise):
        """Compares calls with entries. Linkage tables have no calls. Functions without a caller
        were entered only by jumps."""
        unlike = {name: (count, entries[name]) for name, count in calls.items()
                  if count != entries[name] and not name.endswith("@plt")
                  and name not in otherwise}
        self.assertEqual(unlike, {}, "calls in callgrind, entries")
        uncalled = {name: count for name, count in entries.items()
                    if name not in calls and not name.endswith("@plt")}
        self.assertLess(sum(uncalled.values()), 20, uncalled)

    def check_against_valgrind(self, name):
        """Compares each instruction, except in the loader and the C library, whose code depends
        on the processor. For a repeated string instruction callgrind counts the iterations, each
        as a jump to itself."""
        truth, loaded = against_callgrind.run_callgrind(
            PROGRAMS[name], self.folder, self.folder / "callgrind.out", True)
        different = {}
        expected = collections.Counter()
        for place, count in truth.executed.items():
            if place[0] == callgrind_file.UNKNOWN:
                place = loaded.place(place[1]) or place
            expected[os.path.realpath(place[0]), place[1]] += count
        seen = collections.Counter({(os.path.realpath(path), address): count for (path, address), count
                                    in self.of_callgrind()[2].executed.items()})
        repeated = {(os.path.realpath(start[0]), start[1])
                    for start, end in [*truth.conditional, *truth.jumps] if start == end}
        compared = 0
        for place in seen.keys() | expected.keys():
            module = pathlib.PurePath(place[0]).name
            if module.startswith(("ld-linux", "libc.so", "vgpreload", "[vdso]", "?")) or place in repeated:
                continue
            compared += seen[place]
            if seen[place] != expected[place]:
                different[module, hex(place[1])] = seen[place], expected[place]
        self.assertGreater(compared, 1000)
        self.assertEqual(different, {})

    def check(self, name):
        if shutil.which(PROGRAMS[name][0]) is None:
            self.skipTest(f"{PROGRAMS[name][0]} is not installed")
        comparable = name not in INCOMPARABLE and once("comparable", self.can_compare)
        if comparable:
            against_callgrind.run_exact(SHADOWPROF, PROGRAMS[name], self.folder, self.profile_path,
                                        True)
        else:
            self.profile(*PROGRAMS[name], options=("--mode=exact", "--profiles=edge,stack,call"))
        self.modules = {pathlib.PurePath(each["path"]).name
                        for each in self.read_profile()["modules"]}
        self.check_views()
        if comparable:
            self.check_against_valgrind(name)
        elif name not in INCOMPARABLE:
            self.skipTest("there is no valgrind, or addresses cannot be fixed")

    @staticmethod
    def can_compare():
        fixed = ["setarch", "-R", "true"]
        return (shutil.which("valgrind") is not None
                and subprocess.run(fixed, stderr=subprocess.DEVNULL, check=False).returncode == 0)


for _name in PROGRAMS:
    setattr(RealPrograms, f"test_views_of_{_name}_agree",
            lambda self, name=_name: self.check(name))


if __name__ == "__main__":
    main()
