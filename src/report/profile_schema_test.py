#!/usr/bin/env python3
"""Validates a profile from the writer against the schema, then breaks it in every way that the
schema must notice. Usage: profile_schema_test.py SCHEMA PROGRAM_THAT_WRITES_A_PROFILE"""

import copy
import json
import subprocess
import sys

from jsonschema import Draft202012Validator

REMOVED = object()


def changed(profile, path, value):
    """Returns a copy of `profile` with the value at `path` replaced or removed."""
    result = copy.deepcopy(profile)
    parent = result
    for step in path[:-1]:
        parent = parent[step]
    if value is REMOVED:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return result


def required_fields(node, path=()):
    """Yields the paths of the fields of each plain object and of the first element of each list."""
    if isinstance(node, dict):
        for key, child in node.items():
            yield path + (key,)
            yield from required_fields(child, path + (key,))
    elif isinstance(node, list) and node:
        yield from required_fields(node[0], path + (0,))


LATENCY_DETAILS = ("timed", "reused", "lost_cycles", "line_crossings", "page_crossings",
                   "addresses")


def is_optional(path):
    maps = {("run", "options"), ("sampling", "ended"), ("sampling", "counters"),
            ("syscalls", "by_name"), ("run", "exit")}
    return path[:2] in maps and len(path) == 3 or path == ("sampling", "counters") \
        or path[-1] == "top_tnv" or path[-1] == "error" and path[0] != "values" or path[:3] == ("processes", 0, "exit") and len(path) == 4 \
        or path == ("addresses",) or path[:2] == ("hazards", 0) and path[-1] == "executions" \
        or path in (("processes",), ("other_processes",), ("sampling", "convergence"),
                    ("latency_host",)) \
        or path[-1] in ("strides", "by_caller", "absent_error", "compensation",
                        "invariance_lower_bound", "taken_up_again") \
        or path[0] == "cache" and "store" in str(path[-1]) \
        or path == ("timeline",) or path[0] == "timeline" and path[-1] in ("start_us", "end_us") \
        and path[1] == "threads" \
        or path in (("probes",), ("times",), ("waits",), ("system_calls",), ("allocations",), ("branches",), ("call_costs",), ("branch_model",), ("cache",),
                    ("cache_model",)) \
        or path[0] not in ("times", "waits") and path[-1] in ("time_ns", "time_error_ns") \
        or path[0] == "latency" and path[-1] in LATENCY_DETAILS or path[2:3] == ("levels",)


WRONG = [
    (("schema",), "shadowprof/2"),
    (("tool", "name"), "perf"),
    (("run", "pid"), "4711"),
    (("run", "seed"), 12),
    (("run", "exit"), {"status": 0, "signal": 9}),
    (("run", "options", "mode"), 7),
    (("processes", 0, "exit"), {"status": 0, "signal": 9}),
    (("processes", 0, "parent"), "1"),
    (("processes", 0, "command"), "sort -u"),
    (("other_processes", "count"), -1),
    (("threads", 0, "time_ns"), -1),
    (("times", 0, "at"), "main"),
    (("times", 0, "looks"), 1.5),
    (("times", 0, "time_ns"), None),
    (("modules", 0, "build_id"), "XY"),
    (("modules", 0, "build_id"), "abc"),
    (("modules", 0, "size"), -1),
    (("locations", 0, "address"), 4096),
    (("locations", 0, "address"), "0X1F"),
    (("locations", 0, "address"), "0x00"),
    (("locations", 0, "address"), "0x12345678901234567"),
    (("locations", 0, "line"), 0),
    (("locations", 0, "function"), ""),
    (("locations", 0, "inlined"), [{"function": "f"}]),
    (("sampling", "samples"), 1.5),
    (("sampling", "target_instructions"), "many"),
    (("sampling", "convergence", "reached"), "yes"),
    (("sampling", "ended", "size"), "14"),
    (("overhead", "pause_us", "p99"), None),
    (("syscalls", "by_name", "write"), -4),
    (("edges", 0, "kind"), "fall_through"),
    (("edges", 0, "from"), -1),
    (("edges", 0, "count"), "900000"),
    (("edges", 0, "error"), None),
    (("methods", 0, "error"), -0.1),
    (("paths", 0, "error"), "16000"),
    (("paths", 0, "blocks", 0), "0x1000"),
    (("stacks", 0, "frames"), 3),
    (("methods", 0, "instructions"), -1),
    (("sampling", "convergence", "taken_up_again"), -1),
    (("values", 0, "type"), "i32"),
    (("values", 0, "type"), "u0x4"),
    (("values", 0, "type"), "f8"),
    (("values", 0, "type"), "f64x999"),
    (("values", 0, "invariance"), 1.2),
    (("values", 0, "invariance_lower_bound"), -0.1),
    (("values", 0, "invariance"), REMOVED),  # its bound stays
    (("values", 0, "compensation"), "3"),
    (("values", 0, "top", 0, "value"), 7),
    (("values", 0, "top", 0, "text"), 7),
    (("latency",), [{"at": 0}]),
    (("latency", 0, "histogram", 0), [78]),
    (("latency_host", "levels", 0, "accuracy"), 1.5),
    (("latency_host", "evicted_l2"), -0.1),
    (("hazards",), [{"kind": "alias", "count": 1, "store": 0, "second": 1}]),
    (("hazards",), [{"kind": "line-split", "count": 1}]),
    (("addresses", 0, "pattern"), "random"),
    (("addresses", 0, "share"), 1.5),
    (("addresses", 0, "stride"), "0x8"),
    (("addresses", 0, "counts", "chase"), -1),
    (("streams",), [{"heat": 4, "length": 2, "occurrences": 2, "references": [[0, 16]]}]),
    (("system_calls", 0, "call"), 39),
    (("system_calls", 0, "callers"), 4),
    (("system_calls", 0, "at"), "main"),
    (("system_calls", 0, "count"), -1),
    (("system_calls", 1, "bytes"), -1),
    (("waits", 0, "thread"), 7),
    (("waits", 0, "time_ns"), "long"),
    (("allocations", 0, "bytes"), -1),
    (("allocations", 0, "callers"), "main"),
    (("system_calls", 1, "failed"), "some"),
    (("branches", 0, "kind"), "jump"),
    (("branches", 0, "mispredictions"), -1),
    (("branch_model", "conditional", 0, "history_bits"), "5"),
    (("branch_model", "return_stack_entries"), REMOVED),
    (("cache", 0, "l1_misses"), -1),
    (("cache_model", "source"), REMOVED),
    (("cache_model", "levels", 0, "fill"), "exclusive"),
    (("probes", 0, "reducer"), "top"),
    (("probes", 0, "key"), "address"),
    (("probes", 0, "hits"), -1),
    (("probes", 0, "entries", 0, "key"), 4096),
    (("probes", 0, "entries", 0, "top", 0, "value_at"), "0x10"),
    (("probes", 0, "entries", 0, "top"), [{"count": 1, "error": 0}]),
    (("probes", 1, "entries", 0, "histogram", 0), [65, 1]),
    (("probes", 1, "entries", 0, "least"), -2),
    (("probes", 1, "entries", 0, "key_at"), REMOVED),
    (("probes", 2, "entries", 0, "sum"), REMOVED),
    (("probes", 2, "entries", 0, "sum"), "0x-1"),
    (("timeline", "stride"), 0),
    (("timeline", "kinds"), "shadow"),
    (("timeline", "threads", 0, "start_us"), -1),
    (("timeline", "threads", 0, "pid"), None),
    (("timeline", "samples", "start_us"), [1.5, 2]),
    (("timeline", "samples", "thread"), [-1, 0]),
    (("timeline", "stacks", "node"), 0),
    (("timeline", "parents"), [None]),
    (("timeline", "frames", 0), "0x1010"),
    (("notes", 0), 3),
]

RIGHT = [
    (("run", "exit"), {}),
    (("run", "exit"), {"signal": 9}),
    (("sampling", "target_instructions"), None),
    (("sampling", "convergence", "taken_up_again"), REMOVED),
    (("processes", 0, "exit"), {}),
    (("processes",), []),
    (("some_new_field",), {"x": 1}),
    (("edges", 0, "some_new_field"), True),
    (("latency",), [{"at": 0, "count": 2, "median_cycles": 78, "levels": {"L1": 2},
                     "histogram": [[52, 1], [78, 1]]}]),
    (("hazards",), [{"kind": "4k-aliasing", "count": 1, "first": 0, "second": 1}]),
    (("streams",), [{"heat": 4, "length": 2, "occurrences": 2, "references": [[0, "0x10"]]}]),
    (("values", 0, "invariance_lower_bound"), REMOVED),  # as older versions wrote it
    (("timeline",), REMOVED),
    (("timeline", "threads", 0, "end_us"), REMOVED),
    (("probes",), REMOVED),
    (("probes",), []),
    (("probes", 3, "entries"), [{"count": 1}]),
]


def main():
    schema_path, program = sys.argv[1:]
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    profile = json.loads(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout)

    failures = [f"a profile of the writer is refused: {error.json_path}: {error.message}"
                for error in validator.iter_errors(profile)]
    for path, value in RIGHT:
        if not validator.is_valid(changed(profile, path, value)):
            failures.append(f"refused though right: {path} = {value!r}")
    for path, value in WRONG:
        if validator.is_valid(changed(profile, path, value)):
            failures.append(f"accepted though wrong: {path} = {value!r}")
    fields = [path for path in required_fields(profile) if not is_optional(path)]
    for path in fields:
        if validator.is_valid(changed(profile, path, REMOVED)):
            failures.append(f"accepted without {path}")
    if len(fields) < 90:
        failures.append(f"only {len(fields)} required fields seen: is the profile empty?")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
