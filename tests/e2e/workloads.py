"""The six real programs that tests and benchmarks run, and their inputs."""

import pathlib
import subprocess
import sys

COMMANDS = {
    "gzip": ["gzip", "-9", "-c", "text.txt"],
    "bzip2": ["bzip2", "-9", "-k", "-c", "text.txt"],
    "perl": ["perl", "words.pl", "text.txt"],
    "sqlite": ["sqlite3", ":memory:", ".read queries.sql"],
    "lua": ["lua5.4", "work.lua"],
    "xz": ["xz", "-2", "-T1", "-c", "text.txt"],
}

# Makes all runs alike: otherwise perl's hashes have another order each time.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PERL_HASH_SEED": "0",
               "PERL_PERTURB_KEYS": "0"}

PROGRAMS = sorted({command[0] for command in COMMANDS.values()})

MAKE_INPUTS = pathlib.Path(__file__).resolve().parents[1] / "workloads/make-inputs"


def make_inputs(folder):
    subprocess.run([sys.executable, MAKE_INPUTS, folder], check=True)


def make_long_inputs(folder):
    """For runs of more than ten seconds. Each workload's command runs in its own folder in
    `folder`."""
    subprocess.run([sys.executable, MAKE_INPUTS, "--long", folder], check=True)
