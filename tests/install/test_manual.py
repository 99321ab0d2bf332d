"""Whether manual pages have the commands' options and the words of their values."""

import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHADOWPROF = pathlib.Path(os.environ.get("SHADOWPROF", SOURCE / "build/src/cli/shadowprof"))


def said(*words):
    return subprocess.run([SHADOWPROF, *words], check=True, capture_output=True, text=True).stdout


def commands():
    return re.findall(r"^  ([a-z]+)  ", said("--help"), re.MULTILINE)


def options_of(command):
    """Returns {option: words of its value}."""
    rows = [line.split("\t")[:2] for line in said(command, "--completion-words").splitlines()]
    return {option: words.split() for option, words in rows}


def pages_of(command):
    """Returns the text of the command's page, and of the pages that it refers to for options."""
    text = (SOURCE / f"man/shadowprof-{command}.1").read_text()
    if command == "attach":
        text += (SOURCE / "man/shadowprof-run.1").read_text()
    return text


def options_in(lines):
    """Returns the options that lines of mdoc(7) name: `.It Fl o , -output Ar FILE`, `.Fl -html`."""
    return {f"-{name}" for line in lines if re.search(r"\bFl ", line)
            for name in re.findall(r"(?<=[ ])(-[A-Za-z][A-Za-z0-9-]+)", line)}


class Manual(unittest.TestCase):
    def test_every_option_is_in_the_page(self):
        for command in set(commands()) - {"help"}:
            with self.subTest(command=command):
                # shadowprof(1) describes --help.
                options = set(options_of(command)) - {"--help"}
                self.assertLessEqual(options, options_in(pages_of(command).splitlines()))

    def test_no_option_is_described_that_does_not_exist(self):
        for command in set(commands()) - {"help", "attach"}:
            with self.subTest(command=command):
                items = re.findall(r"^\.It .*", pages_of(command), re.MULTILINE)
                self.assertLessEqual(options_in(items), set(options_of(command)))

    def test_each_page_names_its_command_and_its_exit_status(self):
        for command in set(commands()) - {"help"}:
            with self.subTest(command=command):
                text = (SOURCE / f"man/shadowprof-{command}.1").read_text()
                synopsis = re.search(r"^\.Sh SYNOPSIS\n(.*?)^\.Sh ", text, re.MULTILINE | re.DOTALL)
                names = re.findall(r"^\.Nm.*", synopsis.group(1), re.MULTILINE)
                self.assertEqual(set(names), {f".Nm shadowprof Cm {command}"})
                self.assertRegex(text, r"(?m)^\.Sh EXIT STATUS$")

    def test_quotes_in_examples_are_those_of_a_shell(self):
        """Formatters may make typographic quotes of others, which no shell knows."""
        for page in sorted((SOURCE / "man").glob("*.1")):
            for line in re.findall(r"^\.(?:Dl|Ql|Li) .*", page.read_text(), re.MULTILINE):
                with self.subTest(page=page.name):
                    self.assertNotIn("'", line)

    def test_words_that_options_take_are_in_the_page(self):
        for command in set(commands()) - {"help"}:
            text = pages_of(command)
            for option, words in options_of(command).items():
                for word in words:
                    with self.subTest(command=command, option=option, word=word):
                        self.assertRegex(text, rf"(?m)^\..*\b(Cm|Li|Ar|Sy|It)\b.*\b{re.escape(word)}\b")


if __name__ == "__main__":
    unittest.main()
