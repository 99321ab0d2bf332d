"""Checks what `meson install` puts into a staging root, and that it runs from there."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", SOURCE / "build"))


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="shadowprof-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir",
                        cls.root], check=True, stdout=subprocess.DEVNULL)
        cls.files = {path.name: path for path in cls.root.rglob("*") if path.is_file()}

    def test_the_program_runs_from_there(self):
        program = next(self.root.rglob("bin/shadowprof"))
        profile = self.root / "profile.json"
        done = subprocess.run([program, "run", "-q", "-o", profile, "true"], check=False)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(profile.exists())

    def test_every_command_has_its_manual_page(self):
        pages = {path.stem for path in (SOURCE / "man").glob("*.1")}
        self.assertGreater(len(pages), 8)
        installed = {path.name.split(".")[0] for path in self.root.rglob("man1/*")}
        self.assertEqual(pages, installed)

    def test_completions_are_where_shells_look(self):
        for path in ("bash-completion/completions/shadowprof", "zsh/site-functions/_shadowprof",
                     "fish/vendor_completions.d/shadowprof.fish"):
            self.assertTrue(list(self.root.rglob(path)), path)

    def test_the_header_is_where_compilers_look(self):
        header = next(self.root.rglob("include/shadowprof.h"))
        self.assertEqual(header.read_text(), (SOURCE / "include/shadowprof.h").read_text())

    def test_nothing_else_is_installed(self):
        self.assertEqual(sorted(name for name in self.files
                                if not name.endswith((".1", ".1.gz")) and "shadowprof" not in name),
                         [])


if __name__ == "__main__":
    unittest.main()
