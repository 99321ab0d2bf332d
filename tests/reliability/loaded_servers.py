"""Servers under load, each in a folder of its own on the loopback interface."""
import contextlib
import csv
import io
import os
import pathlib
import pwd
import re
import signal
import socket
import subprocess
import sys

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
    """A server in a folder of its own on the loopback interface. `worker` is the process to
    profile."""
    OPTIONS = []  # for `attach`

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
        """Returns requests a second, failed requests, and the 99th percentile of latency in
        milliseconds."""
        done = subprocess.run(["redis-benchmark", "-p", str(self.port), "-t", "get,set", "-c", "50",
                               "-n", str(self.requests), "--csv"], capture_output=True, text=True)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        if done.returncode != 0 or len(rows) != 2:  # redis-benchmark ends at the first error
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
        return wrk(self.port, self.seconds)


def wrk(port, seconds):
    """Returns requests a second, failed requests, and the 99th percentile of latency in
    milliseconds."""
    done = subprocess.run(["wrk", "-t1", "-c32", f"-d{seconds}s", "--latency",
                           f"http://127.0.0.1:{port}/page"], capture_output=True, text=True)
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


class Node(Server):
    NEEDS = ("node", "wrk")
    LOAD = "wrk -t1 -c32, JSON"
    PROGRAM = """
const items = Array.from({length: 40}, (_, i) => ({id: i, name: "item " + i, price: i * 1.25}));
require("http").createServer((request, answer) => {
  const chosen = items.filter(item => item.id % 3 != 0).map(item => ({...item, url: request.url}));
  answer.setHeader("Content-Type", "application/json");
  answer.end(JSON.stringify(chosen));
}).listen(Number(process.argv[2]), "127.0.0.1");
"""

    def __init__(self, folder, seconds):
        self.seconds = seconds
        (folder / "server.js").write_text(self.PROGRAM)
        port = free_port()
        super().__init__(["node", str(folder / "server.js"), str(port)], port)

    def load(self):
        return wrk(self.port, self.seconds)


class Java(Server):
    NEEDS = ("java", "wrk")
    LOAD = "wrk -t1 -c32, text"
    PROGRAM = """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.*;
import java.util.concurrent.Executors;

public class Pages {
  public static void main(String[] words) throws Exception {
    var server = HttpServer.create(
        new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
    server.createContext("/", exchange -> {
      var counts = new TreeMap<String, Integer>();
      for (int i = 0; i < 200; ++i) counts.merge("key " + i * 7 % 40, i, Integer::sum);
      byte[] answer = counts.toString().getBytes();
      exchange.sendResponseHeaders(200, answer.length);
      try (var body = exchange.getResponseBody()) { body.write(answer); }
    });
    server.setExecutor(Executors.newFixedThreadPool(4));
    server.start();
  }
}
"""

    def __init__(self, folder, seconds):
        self.seconds = seconds
        (folder / "Pages.java").write_text(self.PROGRAM)
        port = free_port()
        super().__init__(["java", str(folder / "Pages.java"), str(port)], port)

    def load(self):
        return wrk(self.port, self.seconds)


class Postgres(Server):
    """The postmaster is profiled, and with it the backends that it starts for each load."""
    NEEDS = ("initdb", "postgres", "pgbench")
    LOAD = "pgbench -S -c4 -j1"
    OPTIONS = ["--follow-forks=yes"]

    def __init__(self, folder, seconds):
        self.seconds, self.folder = seconds, folder
        data, port = folder / "data", free_port()
        self.as_user = []
        if os.getuid() == 0:  # postgres refuses to run as root
            user = pwd.getpwnam("postgres")
            self.as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            os.chown(folder, user.pw_uid, user.pw_gid)
        self.client = ["-h", "127.0.0.1", "-p", str(port), "-U", "bench"]
        self.run("initdb", "-D", data, "-U", "bench", "-A", "trust")
        super().__init__([*self.as_user, "postgres", "-D", str(data), "-p", str(port), "-k", str(folder),
                          "-c", "listen_addresses=127.0.0.1"], port)
        self.run("pgbench", *self.client, "-i", "-s", "5", "postgres")

    def run(self, *words):
        return subprocess.run([*self.as_user, *map(str, words)], cwd=self.folder, check=True,
                              capture_output=True, text=True)

    def load(self):
        for old in self.folder.glob("pgbench_log.*"):
            old.unlink()
        done = subprocess.run([*self.as_user, "pgbench", *self.client, "-n", "-S", "-c4", "-j1", "-l", "-T",
                               str(self.seconds), "postgres"], cwd=self.folder, capture_output=True,
                              text=True)
        rate = re.search(r"tps = ([\d.]+)", done.stdout)
        failed = re.search(r"number of failed transactions: (\d+)", done.stdout)
        times = sorted(int(line.split()[2]) for path in self.folder.glob("pgbench_log.*")
                       for line in path.read_text().splitlines())
        if rate is None or not times:
            return 0, 1, 0
        return float(rate.group(1)), int(failed.group(1)) if failed else 0, times[len(times) * 99 // 100] / 1000

    def stop(self):
        self.process.send_signal(signal.SIGINT)  # with SIGINT it does not wait for clients
        self.process.wait(20)


SERVERS = {"redis": Redis, "nginx": Nginx, "postgres": Postgres, "node": Node, "java": Java}
