"""Whether all that names the version names the same."""

import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHADOWPROF = pathlib.Path(os.environ.get("SHADOWPROF", SOURCE / "build/src/cli/shadowprof"))


def first_in(name, pattern):
    """Returns what the first match of a pattern has in its parentheses."""
    return re.search(pattern, (SOURCE / name).read_text(), re.MULTILINE)[1]


class Versions(unittest.TestCase):
    def setUp(self):
        self.version = first_in("meson.build", r"^  version: '(.*)',$")

    def test_the_package_has_the_version_of_the_program(self):
        self.assertEqual(first_in("debian/changelog", r"^shadowprof \((.*)-\d+\) "), self.version)

    def test_the_newest_changes_are_of_this_version(self):
        self.assertEqual(first_in("CHANGELOG.md", r"^## (.*)$"), self.version)

    def test_the_program_says_it(self):
        said = subprocess.run([SHADOWPROF, "--version"], check=True, capture_output=True, text=True)
        self.assertEqual(said.stdout.splitlines()[0], f"shadowprof {self.version}")


if __name__ == "__main__":
    unittest.main()
