"""Debug information that is not in a program's file: on this host, and from a server of debuginfod's
kind that runs in the test."""

import ctypes
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import unittest

from harness import TestCase, main, victim

# How long debuginfod waits for a server that is silent. A program whose counts are waited for so
# long would be given up.
SILENCE_SECONDS = 6


def can_load(library):
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    return notes.split("Build ID: ")[1].split()[0]


class Server:
    """Serves one file as the debug information of one build, on this host."""

    def __init__(self, build, debug_file):
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):
                self.asked.append(handler.path)
                if handler.path != f"/buildid/{build}/debuginfo":
                    handler.send_error(404)
                    return
                content = debug_file.read_bytes()
                handler.send_response(200)
                handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content)

            def log_message(self, *unused):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


class DebugFiles(TestCase):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "stripped"
        self.debug_file = self.folder / "elsewhere" / "stripped.debug"
        self.debug_file.parent.mkdir()
        source = victim("allocations")
        subprocess.run(["objcopy", "--only-keep-debug", source, self.debug_file], check=True)
        subprocess.run(["objcopy", "--strip-all", source, self.program], check=True)

    def environment(self, url):
        return {"DEBUGINFOD_URLS": url, "DEBUGINFOD_TIMEOUT": str(SILENCE_SECONDS), "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache"),
                "no_proxy": "127.0.0.1"}

    def run_it(self, *options, url="", mode="--mode=exact"):
        done, profile = self.profile(str(self.program), "3", options=(mode, *options),
                                     env=self.environment(url))
        self.assertEqual(done.code, 0, done.stderr)
        return profile

    def functions(self, profile):
        """Returns {function of the program: whether all its places have lines}."""
        module = next(i for i, each in enumerate(profile["modules"])
                      if each["path"] == str(self.program))
        found = {}
        for place in profile.locations:
            if place["module"] == module and place["function"]:
                name = place["function"]
                found[name] = found.get(name, True) and place["line"] is not None
        return found

    @unittest.skipUnless(can_load("libdebuginfod.so.1"), "libdebuginfod is not installed")
    def test_servers_are_asked_on_request(self):
        with Server(build_id(self.program), self.debug_file) as server:
            profile = self.run_it("--debuginfod", url=server.url)
        self.assertTrue(self.functions(profile).get("take_small"), self.functions(profile))
        self.assertIn(f"/buildid/{build_id(self.program)}/debuginfo", server.asked)
        # The next run finds it in the cache.
        profile = self.run_it("--debuginfod", url=server.url)
        self.assertTrue(self.functions(profile).get("take_small"))

    def test_no_server_is_asked_unless_requested(self):
        with Server(build_id(self.program), self.debug_file) as server:
            profile = self.run_it(url=server.url)
        self.assertNotIn("take_small", self.functions(profile))
        self.assertEqual(server.asked, [])

    @unittest.skipUnless(can_load("libdebuginfod.so.1"), "libdebuginfod is not installed")
    def test_a_server_that_has_nothing_costs_only_names(self):
        with Server("0123", self.debug_file) as server:
            profile = self.run_it("--debuginfod", url=server.url)
        self.assertNotIn("take_small", self.functions(profile))
        self.assertTrue(profile["edges"])
        self.assertNotEqual(server.asked, [])

    @unittest.skipUnless(can_load("libdebuginfod.so.1"), "libdebuginfod is not installed")
    def test_a_server_that_never_answers_holds_up_only_the_end(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            profile = self.run_it("--debuginfod", url=url)
        self.assertEqual(profile["run"]["exit"], {"status": 0})

    def test_a_pipe_with_the_name_of_a_debug_file_holds_up_nothing(self):
        os.mkfifo(self.folder / "stripped.debug")
        profile = self.run_it(*(["--debuginfod"] if can_load("libdebuginfod.so.1") else []),
                              url="http://127.0.0.1:9")
        self.assertNotIn("take_small", self.functions(profile))

    def test_a_request_without_servers_is_an_error(self):
        for command in (["run", "/bin/true"], ["attach", "1"]):
            with self.subTest(command=command):
                done = self.shadowprof(command[0], "--debuginfod", *command[1:],
                                       env=self.environment(""))
                self.assertEqual(done.code, 125, done.stderr)
                self.assertIn("set DEBUGINFOD_URLS", done.stderr)

    def test_a_linked_file_beside_the_program_is_found(self):
        beside = self.folder / ".debug" / "stripped.debug"
        beside.parent.mkdir()
        self.debug_file.rename(beside)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={beside}", self.program], check=True)
        self.assertTrue(self.functions(self.run_it()).get("take_small"))
        # One that was changed is not believed.
        with pathlib.Path(beside).open("ab") as file:
            file.write(b"changed")
        self.assertNotIn("take_small", self.functions(self.run_it()))

    def compress_by_zstd(self, *files):
        """Compresses the debug sections of the files; skips the test if that cannot be done."""
        for file in files:
            done = subprocess.run(["objcopy", "--compress-debug-sections=zstd", file],
                                  capture_output=True, text=True)
            if done.returncode != 0 or "zstd" in done.stderr:
                self.skipTest("objcopy cannot compress with zstd")

    def assert_lines_or_note(self, profile):
        if self.functions(profile).get("take_small"):
            return
        notes = [note for note in profile["notes"] if str(self.program) in note]
        self.assertTrue(any("compressed with zstd" in note for note in notes), profile["notes"])

    def test_debug_sections_that_are_compressed_with_zstd(self):
        shutil.copy(victim("allocations"), self.program)
        plain = self.run_it()
        self.compress_by_zstd(self.program)
        profile = self.run_it()
        self.assert_lines_or_note(profile)
        if self.functions(profile).get("take_small"):
            described = [[(place["line"], place["inlined"]) for place in each.locations
                          if place["module"] == 0] for each in (plain, profile)]
            self.assertEqual(*described)

    def test_a_debug_file_that_is_compressed_with_zstd(self):
        beside = self.folder / "stripped.debug"
        self.debug_file.rename(beside)
        self.compress_by_zstd(beside)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={beside}", self.program], check=True)
        self.assertIn("take_small", self.functions(self.run_it()))
        self.assert_lines_or_note(self.run_it())

    def test_damaged_sections_are_named_as_the_reason(self):
        shutil.copy(victim("allocations"), self.program)
        self.compress_by_zstd(self.program)
        content = bytearray(self.program.read_bytes())
        sections = subprocess.run(["readelf", "-SW", self.program], check=True,
                                  capture_output=True, text=True).stdout
        (line,) = [line for line in sections.splitlines() if " .debug_info " in line]
        offset = int(line.split("PROGBITS")[1].split()[1], 16)
        content[offset + 30:offset + 60] = bytes(30)
        self.program.write_bytes(content)
        profile = self.run_it()
        self.assertIn("take_small", self.functions(profile))
        notes = [note for note in profile["notes"] if str(self.program) in note]
        self.assertTrue(any("no lines" in note for note in notes), profile["notes"])

    @unittest.skipUnless(shutil.which("gcc"), "gcc is not installed")
    def test_split_debug_information_that_is_missing_is_noted(self):
        source = self.folder / "split.c"
        source.write_text("""
            static volatile int sink;
            static inline __attribute__((always_inline)) int inner(int s) {
                while (s & 4) { s -= 3; sink = s; }
                return s;
            }
            int main(void) { for (int i = 0; i < 1000; i++) sink = inner(i); return 0; }
        """)
        self.program = self.folder / "split"
        for version in ("4", "5"):
            with self.subTest(version=version):
                subprocess.run(["gcc", f"-gdwarf-{version}", "-gsplit-dwarf", "-O1", source, "-o",
                                self.program], check=True, cwd=self.folder)

                def described():
                    profile = self.run_it()
                    inlined = any(place["inlined"] for place in profile.locations
                                  if place["function"] == "main")
                    return inlined, [note for note in profile["notes"] if "inlined" in note]

                self.assertEqual(described(), (True, []))
                for each in self.folder.glob("*.dwo"):
                    each.unlink()
                inlined, (note,) = described()
                self.assertFalse(inlined)
                self.assertIn("1 of", note)
                self.assertIn(".dwo files are missing", note)
                package = self.folder / "split.dwp"
                package.write_bytes(b"")
                inlined, (note,) = described()
                self.assertIn(str(package), note)
                package.unlink()


if __name__ == "__main__":
    main()
