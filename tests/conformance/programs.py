"""The conformance programs: where they are, what their first lines request, and how to compile
them."""

import dataclasses
import os
import pathlib
import re
import shlex
import signal
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Werror"]

# Matches "// status: 3".
DIRECTIVE = re.compile(r"// ([a-z-]+): (.*)")


class Malformed(Exception):
    """A program whose first lines are not understood."""


@dataclasses.dataclass
class Program:
    """One behaviour of Linux. `status` is minus the signal for programs that die of one."""

    name: str
    source: pathlib.Path
    behaviour: str = ""
    status: int = 0
    flags: list = dataclasses.field(default_factory=list)
    arguments: list = dataclasses.field(default_factory=list)
    input: bytes | None = None
    left_out: dict = dataclasses.field(default_factory=dict)
    # Known errors of shadowprof, by mode.
    known_faults: dict = dataclasses.field(default_factory=dict)
    # Why the emulation may have other results than the hardware; empty if it may not.
    diverges: str = ""


def read_modes(program, key, text, modes):
    """Parses "MODE[,MODE]: TEXT". Returns {mode: text}."""
    named, _, reason = text.partition(": ")
    names = named.split(",")
    if not reason.strip() or not set(names) <= set(modes):
        raise Malformed(f"{program.name}: {key} wants MODE[,MODE]: TEXT")
    return dict.fromkeys(names, reason)


def read_program(source, folder, modes):
    """Returns the program of a file; `folder` is the folder of areas."""
    lines = source.read_text().splitlines()
    program = Program(str(source.relative_to(folder).with_suffix("")), source)
    if not lines or not lines[0].startswith("// "):
        raise Malformed(f"{program.name}: its first line does not say what it shows")
    program.behaviour = lines[0].removeprefix("// ")
    for line in lines[1:]:
        if not line.startswith("//"):
            break
        match = DIRECTIVE.fullmatch(line)
        if not match:
            raise Malformed(f"{program.name}: what it shows does not fit into its first line")
        apply_directive(program, *match.groups(), modes)
    return program


def apply_directive(program, key, text, modes):
    if key == "status":
        program.status = int(text)
    elif key == "signal":
        program.status = -signal.Signals[text.strip()]
    elif key == "flags":
        program.flags = shlex.split(text)
    elif key == "arguments":
        program.arguments = shlex.split(text)
    elif key == "input":
        program.input = f"{text}\n".encode()
    elif key == "diverges":
        program.diverges = text
    elif key == "leave-out":
        program.left_out.update(read_modes(program, key, text, modes))
    elif key == "known-fault":
        program.known_faults.update(read_modes(program, key, text, modes))
    else:
        raise Malformed(f"{program.name}: nobody knows the directive {key!r}")


def find_programs(folder, words, modes):
    """Returns the programs that the words name (AREA, AREA/NAME or NAME), or all without words."""
    found = [read_program(source, folder, modes) for source in sorted(folder.glob("*/*.c"))]
    for word in words:
        if not any(is_named(program, word) for program in found):
            raise Malformed(f"no program or area is called {word!r}")
    return [program for program in found
            if not words or any(is_named(program, word) for word in words)]


def is_named(program, word):
    return word in (program.name, *program.name.split("/"))


def compile_program(program, binary):
    """Compiles the program to `binary`. Returns the compiler's first complaint, or nothing."""
    command = [*shlex.split(os.environ.get("CC", "cc")), *FLAGS, f"-I{HERE}", *program.flags,
               "-o", str(binary), str(program.source)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stdout.splitlines() if "error: " in line]
    return (errors or done.stdout.splitlines() or [f"status {done.returncode}"])[0]
