#!/usr/bin/env python3
"""Names the first test that failed in a build folder's last `meson test`, in one line:
which test, which case, why, and how to run it alone.

usage: tests/first_failure.py BUILD_FOLDER [LOG_NAME]
"""
import json
import pathlib
import re
import sys

BAD = {"FAIL", "TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS"}


def short_name(test):
    return test["name"].split(" / ")[-1]


def doctest_case(output):
    """Returns the first case of a unit test that failed, and the assertion."""
    case = None
    for line in output.splitlines():
        if named := re.match(r"TEST CASE:\s+(.*)", line):
            case = named.group(1).strip()
        if failed := re.search(r"(?:ERROR|FATAL ERROR): (.*)", line):
            return case, failed.group(1).strip()
    return case, None


def what_failed(test):
    """Returns case, reason and command of one record of testlog.json; each may be None."""
    output = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    command = " ".join(test["command"])
    # The test's own message: "FAILED case: reason; alone: command".
    for line in output.splitlines():
        if line.startswith("FAILED "):
            said = line.removeprefix("FAILED ").removeprefix(short_name(test) + ": ")
            if own := re.search(r"^the first that failed: (.*)", output, re.MULTILINE):
                command = own.group(1)
            return said.rstrip(":"), None, None if "alone: " in said else command
    if test["result"] == "TIMEOUT":
        return None, f"no end within {test['duration']:.0f} s", command
    case, reason = doctest_case(output)
    if case:
        return case, reason, f"{command} -tc='{case}'"
    last = [line for line in output.splitlines() if line.strip()]
    return None, last[-1].strip() if last else f"exit status {test['returncode']}", command


def main():
    build = pathlib.Path(sys.argv[1])
    name = sys.argv[2] if len(sys.argv) > 2 else "testlog"
    for line in (build / "meson-logs" / f"{name}.json").open():
        test = json.loads(line)
        if test["result"] not in BAD:
            continue
        case, reason, alone = what_failed(test)
        parts = [short_name(test)] + [part for part in (case, reason) if part]
        print(": ".join(parts) + (f"; alone: {alone}" if alone else ""))
        return


if __name__ == "__main__":
    main()
