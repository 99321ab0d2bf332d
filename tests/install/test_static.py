#!/usr/bin/env python3
"""test_static.py [PROGRAM]: whether a static shadowprof needs nothing but the kernel.

PROGRAM is $SHADOWPROF if it is not given. It runs in a folder that holds nothing but itself and
/proc, as its root. Skips itself, with a message, where that is not permitted. Builds nothing.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ.get("SHADOWPROF", "build-static/src/cli/shadowprof"))
IN_NAMESPACE = "--in-namespace"
SKIPPED = 77  # what meson takes for a skipped test
BUSY = "import sys; print('ready', flush=True)\nwhile True: sum(range(1000))"


def mount_proc(root):
    subprocess.run(["mount", "--rbind", "/proc", root / "proc"], check=True, capture_output=True)


class EmptyRoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="shadowprof-root-"))
        cls.addClassCleanup(cls.remove_root)
        (cls.root / "proc").mkdir()
        shutil.copy(PROGRAM, cls.root / "shadowprof")
        mount_proc(cls.root)

    @classmethod
    def remove_root(cls):
        """Never removes what is mounted there."""
        if os.path.ismount(cls.root / "proc"):
            subprocess.run(["umount", "--lazy", cls.root / "proc"], check=True)
        shutil.rmtree(cls.root)

    def shadowprof(self, *words, **environment):
        """Runs it in the empty root, with no environment but what is given."""
        done = subprocess.run(["/shadowprof", *words], env=environment, check=False,
                              capture_output=True, text=True, timeout=600, cwd="/",
                              preexec_fn=lambda: (os.chroot(self.root), os.chdir("/")))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def profile(self, name):
        return json.loads((self.root / name).read_text())

    def functions_of(self, name):
        return {place["function"] for place in self.profile(name)["locations"]}

    def test_version_says_so(self):
        self.assertRegex(self.shadowprof("--version").stdout, r"\nlinked +statically\n")

    def test_exact_counts_and_their_report(self):
        self.shadowprof("run", "--mode=exact", "-o", "exact.json", "/shadowprof", "syscalls")
        self.assertEqual(self.profile("exact.json")["run"]["exit"], {"status": 0})
        self.assertIn("main", self.functions_of("exact.json"))
        self.assertIn("exact", self.shadowprof("report", "exact.json").stdout)
        self.shadowprof("export", "--format=folded", "exact.json")

    def test_exact_counts_beside_copies(self):
        self.shadowprof("run", "--mode=exact", "--check=100", "-o", "checked.json", "/shadowprof",
                        "syscalls")
        exact = self.profile("checked.json")["sampling"]["exact"]
        self.assertGreater(exact["compared"], 0)

    def test_a_program_is_run_and_sampled(self):
        self.shadowprof("run", "-o", "run.json", "/shadowprof", "syscalls")
        self.assertEqual(self.profile("run.json")["run"]["exit"], {"status": 0})

    def test_compressed_profiles(self):
        for name in ("small.json.gz", "small.json.zst"):
            with self.subTest(name=name):
                self.shadowprof("run", "--mode=exact", "-o", name, "/shadowprof", "--version")
                self.shadowprof("report", name)

    # libdw would load a library that fetches debug information.
    def test_debug_information_is_not_fetched(self):
        self.shadowprof("run", "--mode=exact", "-o", "fetched.json", "/shadowprof", "--version",
                        DEBUGINFOD_URLS="http://localhost:1/")
        self.assertIn("main", self.functions_of("fetched.json"))

    def test_samples_of_a_process_that_was_attached_to(self):
        for mode in ("shadow", "live"):
            with self.subTest(mode=mode), \
                    subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as busy:
                self.assertEqual(busy.stdout.readline(), b"ready\n")
                try:
                    self.shadowprof("attach", f"--mode={mode}", "--budget=50%", "--max-samples=3",
                                    "-o", "attached.json", str(busy.pid))
                    self.assertIsNone(busy.poll())
                finally:
                    busy.kill()
                sampling = self.profile("attached.json")["sampling"]
                self.assertGreaterEqual(sampling["samples"], 3)
                self.assertGreater(sampling["instructions"], 0)


def enter_namespace():
    """Starts this script again with mounts, and in a user namespace, of its own."""
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    try:
        with tempfile.TemporaryDirectory() as folder:
            tried = subprocess.run([*unshare, "sh", "-c", 'mount --rbind /proc "$0" && chroot / true',
                                    folder], check=False, capture_output=True, text=True)
        why = tried.stderr.strip() if tried.returncode else ""
    except FileNotFoundError:
        why = "no unshare here"
    if why:
        print(f"skipped: a chroot is not permitted here: {why}")
        sys.exit(SKIPPED)
    os.execvpe("unshare", [*unshare, sys.executable, __file__, IN_NAMESPACE],
               dict(os.environ, SHADOWPROF=str(PROGRAM)))


if __name__ == "__main__":
    if sys.argv[1:] != [IN_NAMESPACE]:
        PROGRAM = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else PROGRAM
        enter_namespace()
    unittest.main(argv=sys.argv[:1])
