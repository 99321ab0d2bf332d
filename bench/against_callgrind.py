"""Compares the counts of --mode=exact with those of callgrind, which also follows every
instruction, but by dynamic translation (valgrind)."""

import collections
import dataclasses
import json
import subprocess

import callgrind_file
import load_addresses
import workloads

CALLGRIND = ["valgrind", "-q", "--tool=callgrind", "--skip-plt=no", "--dump-instr=yes",
             "--collect-jumps=yes"]
MAPS_PERIOD_SECONDS = 0.1
# Switches off the features that valgrind 3.19 lacks, so that glibc chooses the same variants of its
# functions. Sets the thresholds that depend on cache sizes, which valgrind reports differently.
SAME_VARIANTS = ("glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-FMA,-FMA4"
                 ",-FSRM,-RTM,-Prefer_No_VZEROUPPER,-XSAVEC"
                 ":glibc.cpu.x86_non_temporal_threshold=0xc0000"
                 ":glibc.cpu.x86_rep_movsb_threshold=0x1000"
                 ":glibc.cpu.x86_rep_stosb_threshold=0x1000")


@dataclasses.dataclass
class Counts:
    """Counters are keyed by (from, to), unless noted otherwise."""

    taken: collections.Counter      # taken conditional branches
    jumps: collections.Counter      # direct and indirect, also to other functions
    calls: collections.Counter
    branches: collections.Counter   # executions of conditional branches, by place
    repeats: collections.Counter    # iterations of repeated string instructions, by place
    names: dict


def environment(same_variants):
    return workloads.ENVIRONMENT | ({"GLIBC_TUNABLES": SAME_VARIANTS} if same_variants else {})


def environment_in_callgrind(fixed):
    """Returns the environment that a program sees in callgrind, which for example preloads a
    library."""
    done = subprocess.run(["setarch", "-R", *CALLGRIND, "--callgrind-out-file=/dev/null",
                           "/usr/bin/env", "-0"], env=fixed, check=True, stdout=subprocess.PIPE,
                          encoding="utf-8")
    return dict(each.split("=", 1) for each in done.stdout.split("\0") if each)


def run_exact(shadowprof, command, folder, path, same_variants):
    fixed = environment(same_variants)
    if same_variants:
        fixed = environment_in_callgrind(fixed)
    subprocess.run(["setarch", "-R", shadowprof, "run", "-q", "--mode=exact",
                    "--profiles=edge,stack,call", "-o", path, "--", *command],
                   cwd=folder, env=fixed, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return exact_counts(json.loads(path.read_text()), command[0])


def run_callgrind(command, folder, path, same_variants):
    """Returns the file, and the load addresses of the program's files."""
    process = subprocess.Popen(["setarch", "-R", *CALLGRIND, f"--callgrind-out-file={path}",
                                *command], cwd=folder, env=environment(same_variants),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    loaded = load_addresses.LoadAddresses()
    while True:
        loaded.look(process.pid)
        try:
            if process.wait(MAPS_PERIOD_SECONDS) != 0:
                raise RuntimeError(f"callgrind ended with {process.returncode}")
            break
        except subprocess.TimeoutExpired:
            continue
    with open(path, encoding="utf-8", errors="replace") as lines:
        return callgrind_file.CallgrindFile(lines), loaded


def exact_counts(profile, program):
    modules = [module["path"] for module in profile["modules"]]
    places = [(modules[each["module"]], int(each["address"], 0)) for each in profile["locations"]]
    names = {place: each["function"] for place, each in zip(places, profile["locations"])}
    kinds = collections.defaultdict(collections.Counter)
    branches = collections.Counter()
    for edge in profile["edges"]:
        start, end = places[edge["from"]], places[edge["to"]]
        kinds[edge["kind"]][start, end] += edge["count"]
        if edge["kind"] in ("taken", "fall-through"):
            branches[start] += edge["count"]
    calls = collections.Counter({(places[call["site"]], places[call["callee"]]): call["count"]
                                 for call in profile["calls"]})
    return Counts(kinds["taken"], kinds["jump"] + kinds["indirect"], calls, branches,
                  collections.Counter(), names)


def callgrind_counts(file, loaded, exact):
    """Returns callgrind's counts in the terms of `exact`. A call that is a jump in `exact` becomes
    one, as callgrind counts jumps to other functions as calls. Further iterations of repeated
    string instructions are left out: callgrind counts them as jumps to themselves, and `exact` does
    not."""
    def place(at):
        return loaded.place(at[1]) or at if at[0] == callgrind_file.UNKNOWN else at

    def pairs(counter):
        placed = collections.Counter()
        for (start, end), count in counter.items():
            placed[place(start), place(end)] += count
        return +placed

    branch_sites, jump_sites = set(exact.branches), {start for start, _ in exact.jumps}
    repeats = collections.Counter()

    known_sites = branch_sites | jump_sites

    def without_repeats(counter):
        for start, end in [*counter]:
            if start == end and start not in known_sites:
                repeats[start] += counter.pop((start, end))
        return counter

    taken, jumps = without_repeats(pairs(file.conditional)), without_repeats(pairs(file.jumps))
    calls = collections.Counter()
    for pair, count in pairs(file.calls).items():
        kind = taken if pair[0] in branch_sites else jumps if pair[0] in jump_sites else calls
        kind[pair] += count
    executed = {place(at): count for at, count in file.executed.items()}
    branches = collections.Counter({site: executed.get(site, 0)
                                    for site in branch_sites | {start for start, _ in taken}})
    return Counts(taken, jumps, calls, branches, repeats,
                  {place(at): name for at, name in file.functions.items()})


@dataclasses.dataclass
class Agreement:
    exact: int          # number of executions
    callgrind: int
    same: float         # share of executions in pairs with equal counts
    overlap: float      # share of executions that both counted
    differences: list   # (exact, callgrind, key), the largest first


def agreement(exact, callgrind):
    keys = exact.keys() | callgrind.keys()
    most = sum(max(exact[key], callgrind[key]) for key in keys)
    same = sum(exact[key] for key in keys if exact[key] == callgrind[key])
    both = sum(min(exact[key], callgrind[key]) for key in keys)
    unlike = [(exact[key], callgrind[key], key) for key in keys if exact[key] != callgrind[key]]
    unlike.sort(key=lambda row: (-abs(row[0] - row[1]), row[2]))
    return Agreement(exact.total(), callgrind.total(), same / most if most else 1,
                     both / most if most else 1, unlike)


KINDS = ("branches", "taken", "jumps", "calls")


def compare(exact, callgrind):
    return {kind: agreement(getattr(exact, kind), getattr(callgrind, kind)) for kind in KINDS}


def place_name(place, *sides):
    path, address = place
    name = next((side.names[place] for side in sides if side.names.get(place)), "?")
    return f"{name} ({path.rpartition('/')[2]} {address:#x})"


# Reasons why a pair's counts differ; the first that holds counts: (text, test of the pair and both
# counts).
CAUSES = (
    ("the loader, and what is computed for it",
     lambda ends, exact, callgrind: any("/ld-linux" in path for path, _ in ends)),
    ("counted by one side only", lambda ends, exact, callgrind: not exact or not callgrind),
    ("counted by both, not alike", lambda ends, exact, callgrind: True),
)


def ends_of(key):
    return (key,) if isinstance(key[0], str) else key


def cause_of(row):
    exact, callgrind, key = row
    return next(what for what, holds in CAUSES if holds(ends_of(key), exact, callgrind))


def print_agreement(found, most):
    """`found` maps names of programs to (exact, callgrind)."""
    print("\rIterations of repeated string instructions, which are jumps to callgrind, left out: "
          + ", ".join(f"{name} {callgrind.repeats.total()}"
                      for name, (_, callgrind) in found.items()) + ".\n")
    print("| program | of | exact mode | callgrind | the same | counted by both | pairs unlike |")
    print("|---" * 7 + "|")
    unlike = {}
    for name, sides in found.items():
        for kind, seen in compare(*sides).items():
            unlike[name, kind] = seen.differences
            print(f"| {name} | {kind} | {seen.exact} | {seen.callgrind} | {100 * seen.same:.3f}% "
                  f"| {100 * seen.overlap:.3f}% | {len(seen.differences)} |")
    for (name, kind), rows in unlike.items():
        print_differences(f"{name}, {kind}", rows, found[name], most)


def print_differences(title, rows, sides, most):
    if not rows:
        return
    print(f"\n{title}\n")
    sums = collections.Counter()
    for row in rows:
        sums[cause_of(row)] += abs(row[0] - row[1])
    for what, executions in sums.most_common():
        print(f"- {what}: {executions}")
    for exact, callgrind, key in rows[:most]:
        print(f"  - {exact} / {callgrind}: "
              + " -> ".join(place_name(place, *sides) for place in ends_of(key)))
