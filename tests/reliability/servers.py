#!/usr/bin/env python3
"""Puts servers under load, in turns with and without a profiler attached at its defaults.

Compares failed requests, throughput and the 99th percentile of latency, and prints what the
profiles have.

tests/reliability/servers.py [--build-dir DIR] [--runs N] [--seconds N] [--server NAME...]
                             [--seed N] [option for attach...]

Needs redis-server and redis-benchmark, nginx and wrk, postgres and pgbench, node, java. Servers
that are not installed are left out.
"""
import argparse
import contextlib
import json
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import processes  # noqa: E402
from loaded_servers import SERVERS  # noqa: E402


@contextlib.contextmanager
def attached_by(shadowprof, options, pid):
    profiler = subprocess.Popen([str(shadowprof), "attach", "-q", *map(str, options), str(pid)])
    processes.wait_for(lambda: processes.tracer(pid) != 0 or profiler.poll() is not None,
                       "the attach", 20)
    time.sleep(0.2)
    try:
        yield
    finally:
        profiler.send_signal(signal.SIGTERM)  # shells start background jobs with SIGINT ignored
        if profiler.wait(30) != 0:
            print(f"shadowprof ended by {profiler.returncode}", file=sys.stderr)


def seen(path):
    """Returns from a profile: samples, instructions in millions, the estimated slowdown, and
    pauses in microseconds."""
    profile = json.loads(path.read_text())
    sampling, overhead = profile["sampling"], profile["overhead"]
    return (sampling["samples"], sampling["instructions"] / 1e6, overhead["estimated_slowdown_percent"],
            overhead["pause_us"]["p99"], overhead["pause_us"]["max"])


def measure(options, for_attach, name):
    """Prints a row. Returns whether no request failed and the server is unchanged."""
    results, profiles = {False: [], True: []}, []
    shadowprof = options.build_dir / "src/cli/shadowprof"
    with tempfile.TemporaryDirectory(prefix="shadowprof-servers-") as folder:
        path = pathlib.Path(folder) / "profile.json"
        server = SERVERS[name](pathlib.Path(folder), options.seconds)
        try:
            server.load()  # warm-up
            children = processes.children(server.worker)
            for _ in range(options.runs):
                for profiled in random.sample([False, True], 2):
                    with attached_by(shadowprof, ["-o", path, *server.OPTIONS, *for_attach],
                                     server.worker) if profiled \
                            else contextlib.nullcontext():
                        results[profiled].append(server.load())
                    if profiled:
                        profiles.append(seen(path))
            unharmed = (processes.tracer(server.worker) == 0 and
                        processes.children(server.worker) == children and
                        processes.state(server.worker) in "RS")
        finally:
            server.stop()
    rate, failed, p99 = ({profiled: [run[i] for run in runs] for profiled, runs in results.items()}
                         for i in range(3))
    change = 100 * (statistics.median(rate[True]) / max(statistics.median(rate[False]), 1) - 1)
    print(f"| {name} | {server.LOAD} | {options.runs} of {options.seconds} s each | "
          f"{sum(failed[False])} / {sum(failed[True])} | {statistics.median(rate[False]):.0f} / "
          f"{statistics.median(rate[True]):.0f} ({change:+.1f}%) | "
          f"{statistics.median(p99[False]):.2f} / {statistics.median(p99[True]):.2f} | "
          f"{max(p99[False]):.2f} / {max(p99[True]):.2f} | "
          f"{'as before' if unharmed else 'CHANGED'} | " +
          " / ".join(f"{statistics.median(values):.{digits}f}"
                     for values, digits in zip(zip(*profiles), (0, 2, 2, 0, 0))) + " |", flush=True)
    return unharmed and sum(failed[True]) == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", default="build", type=pathlib.Path)
    parser.add_argument("--runs", default=10, type=int, help="with and without, each")
    parser.add_argument("--seconds", default=10, type=int, help="of a run, about")
    parser.add_argument("--server", choices=SERVERS, action="append")
    parser.add_argument("--seed", default=None, type=int)
    options, for_attach = parser.parse_known_args()
    random.seed(options.seed)
    print("| server | load | runs without and with | failed requests | requests/s, median | "
          "p99 ms, median | p99 ms, worst run | server afterwards | profile, median: samples / million instructions / % "
          "estimated / pause p99, us / the longest |")
    print("|" + "---|" * 9, flush=True)
    good = True
    for name in options.server or SERVERS:
        missing = [each for each in SERVERS[name].NEEDS if shutil.which(each) is None]
        if missing:
            print(f"{name}: not installed: {' '.join(missing)}", file=sys.stderr)
        else:
            good &= measure(options, for_attach, name)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
