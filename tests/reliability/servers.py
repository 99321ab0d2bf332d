#!/usr/bin/env python3
"""Puts servers under load, with and without a profiler attached at its defaults, in turns, and compares
failed requests, throughput and the 99th percentile of latency.

tests/reliability/servers.py [--build-dir DIR] [--runs N] [--seconds N] [--server NAME...]
                             [--seed N] [option for attach...]

Needs redis-server and redis-benchmark, nginx and wrk: those that are not installed are left out.
"""
import argparse
import contextlib
import csv
import io
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import processes  # noqa: E402


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def is_listening(port):
    with contextlib.closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Server:
    """Runs in a folder of its own on the loopback interface. What is profiled is `worker`."""

    def __init__(self, command, port):
        self.port = port
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes.wait_for(lambda: is_listening(port), f"{command[0]} to listen", 20)
        self.worker = self.process.pid

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Redis(Server):
    NEEDS = ("redis-server", "redis-benchmark")
    LOAD = "redis-benchmark -t get,set -c 50"

    def __init__(self, folder, seconds):
        port = free_port()
        super().__init__(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir",
                          str(folder), "--save", "", "--appendonly", "no"], port)
        self.requests = 20000
        rate, _, _ = self.load()
        self.requests = int(rate * seconds / 2)  # of each of two kinds

    def load(self):
        """Requests a second, failed ones, and the 99th percentile of latency in milliseconds."""
        done = subprocess.run(["redis-benchmark", "-p", str(self.port), "-t", "get,set", "-c", "50",
                               "-n", str(self.requests), "--csv"], capture_output=True, text=True)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        if done.returncode != 0 or len(rows) != 2:  # it ends at the first error
            return 0, 1, 0
        seconds = sum(self.requests / float(row["rps"]) for row in rows)
        p99 = max(float(row["p99_latency_ms"]) for row in rows)
        return 2 * self.requests / seconds, 0, p99


class Nginx(Server):
    NEEDS = ("nginx", "wrk")
    LOAD = "wrk -t1 -c32, 4 KiB"
    CONFIGURATION = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; root {folder}/pages; }} }}
"""

    def __init__(self, folder, seconds):
        port = free_port()
        self.seconds = seconds
        pages = folder / "pages"
        pages.mkdir()
        (pages / "page").write_bytes(b"x" * 4096)
        for path in (folder, pages, pages / "page"):
            path.chmod(0o755)
        configuration = folder / "nginx.conf"
        configuration.write_text(self.CONFIGURATION.format(folder=folder, port=port))
        super().__init__(["nginx", "-e", str(folder / "error.log"), "-p", str(folder), "-c",
                          str(configuration)], port)
        processes.wait_for(lambda: processes.children(self.process.pid), "nginx's worker", 20)
        self.worker, = processes.children(self.process.pid)

    def load(self):
        done = subprocess.run(["wrk", "-t1", "-c32", f"-d{self.seconds}s", "--latency",
                               f"http://127.0.0.1:{self.port}/page"], capture_output=True, text=True)
        rate = re.search(r"Requests/sec:\s*([\d.]+)", done.stdout)
        p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", done.stdout)
        if rate is None or p99 is None:
            return 0, 1, 0
        errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)",
                           done.stdout)
        refused = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
        failed = (sum(map(int, errors.groups())) if errors else 0) + \
            (int(refused.group(1)) if refused else 0)
        unit = {"us": 0.001, "ms": 1, "s": 1000}[p99.group(2)]
        return float(rate.group(1)), failed, float(p99.group(1)) * unit


SERVERS = {"redis": Redis, "nginx": Nginx}


@contextlib.contextmanager
def attached_by(shadowprof, options, pid):
    profiler = subprocess.Popen([str(shadowprof), "attach", "-q", *map(str, options), str(pid)])
    processes.wait_for(lambda: processes.tracer(pid) != 0 or profiler.poll() is not None,
                       "the attach", 20)
    time.sleep(0.2)
    try:
        yield
    finally:
        profiler.send_signal(signal.SIGTERM)  # shells have jobs in the background ignore SIGINT
        if profiler.wait(30) != 0:
            print(f"shadowprof ended by {profiler.returncode}", file=sys.stderr)


def attached(options, for_attach, pid):
    return attached_by(options.build_dir / "src/cli/shadowprof", ["-o", "/dev/null", *for_attach],
                       pid)


def measure(options, for_attach, name):
    """Prints a row. True if no request failed and the server is as it was."""
    results = {False: [], True: []}
    with tempfile.TemporaryDirectory(prefix="shadowprof-servers-") as folder:
        server = SERVERS[name](pathlib.Path(folder), options.seconds)
        try:
            server.load()  # warm
            for _ in range(options.runs):
                for profiled in random.sample([False, True], 2):
                    with attached(options, for_attach, server.worker) if profiled \
                            else contextlib.nullcontext():
                        results[profiled].append(server.load())
            unharmed = (processes.tracer(server.worker) == 0 and
                        processes.children(server.worker) == [] and
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
          f"{'as before' if unharmed else 'CHANGED'} |", flush=True)
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
          "p99 ms, median | p99 ms, worst run | server afterwards |")
    print("|" + "---|" * 8, flush=True)
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
