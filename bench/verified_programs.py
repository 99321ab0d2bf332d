"""The programs that `verify-table` verifies, and their inputs. Each runs in one thread for about a
second, so that its own code outweighs its start."""

import glob
import pathlib
import shutil
import subprocess
import sys

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
INPUTS = PROGRAMS / "inputs"
sys.path.insert(0, str(PROGRAMS.parents[1] / "tests/e2e"))
import workloads  # noqa: E402  (found through the line above)


def compiler_proper():
    return next(iter(sorted(glob.glob("/usr/lib/gcc/x86_64-linux-gnu/*/cc1"))), "cc1")


def interpreters(inputs):
    """Returns {name: command}. python3 is the system's own: a wrapper script would start a
    child."""
    python, text = "/usr/bin/python3", str(inputs / "text.txt")

    def program(name):
        return str(INPUTS / name)

    return {
        "python3": [python, str(PROGRAMS / "script.py"), text],
        "numpy": [python, program("arrays.py")],
        "ruby": ["ruby", program("counting.rb"), text],
        "php": ["php", program("counting.php"), text],
        "tclsh": ["tclsh", program("counting.tcl"), text],
        "gawk": ["gawk", "-f", program("counting.awk"), text],
        "mawk": ["mawk", "-f", program("counting.awk"), text],
        "jq": ["jq", "--null-input", "-f", program("summary.jq")],
        "luajit": ["luajit", "work.lua"],
        "ocaml": ["ocaml", program("queens.ml")],
        "sbcl": ["sbcl", "--script", program("sets.lisp")],
        "clisp": ["clisp", program("sets.lisp")],
        "ecl": ["ecl", "--shell", program("sets.lisp")],
        "guile": ["guile", "--no-auto-compile", "-l", "/dev/null", program("sets.scm")],
        "racket": ["racket", program("sets.rkt")],
        "swipl": ["swipl", program("tree.pl")],
        "gforth": ["gforth", program("sieve.fs")],
        "gap": ["gap", "-q", "-A", program("groups.g")],
        "gp": ["gp", "-q", "-f", program("numbers.gp")],
        "maxima": ["maxima", "--very-quiet", "-b", program("symbols.mac")],
        "gnuplot": ["gnuplot", program("curve.gnuplot")],
    }


def media(inputs):
    image, picture, sound = (str(inputs / name) for name in ("image.png", "image.ppm", "sound.wav"))
    return {
        "convert": ["convert-im6.q16", image, "-resize", "160%", "-blur", "0x3", "-rotate", "20",
                    "null:"],
        "cwebp": ["cwebp", "-quiet", "-q", "80", image, "-o", "image.webp"],
        "pngcrush": ["pngcrush", "-q", image, str(inputs / "crushed.png")],
        "optipng": ["optipng", "-quiet", "-o4", "-force", "-out", str(inputs / "opti.png"),
                    "-clobber", image],
        "cjpeg": ["cjpeg", "-quality", "85", "-dct", "float", picture],
        "tesseract": ["tesseract", str(inputs / "page.png"), "-", "--psm", "6"],
        "rsvg-convert": ["rsvg-convert", "--width", "2000", str(inputs / "roads.svg")],
        "dot": ["dot", "-Tsvg", "-o", "roads.out", str(inputs / "roads.dot")],
        "x264": ["x264", "--quiet", "--threads", "1", "--lookahead-threads", "1", "--no-progress",
                 "--input-res", "512x512", "-o", "frames.264", str(inputs / "frames.yuv")],
        "flac": ["flac", "--silent", "--best", "--force", "-o", "sound.out", sound],
        "lame": ["lame", "--quiet", sound, "sound.mp3"],
        "oggenc": ["oggenc", "--quiet", "-o", "sound.out", sound],
        "sox": ["sox", sound, "-n", "rate", "-v", "44100", "reverb", "stat"],
        "gs": ["gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=png16m", "-r150",
               "-sOutputFile=page.out", str(inputs / "page.ps"), str(inputs / "roads.ps")],
    }


def tools(inputs):
    text = str(inputs / "text.txt")
    return {
        "cc1": [compiler_proper(), "-quiet", "-O2", "-o", "nbody.s", str(inputs / "nbody.i")],
        "nasm": ["nasm", "-f", "elf64", "-o", "loops.o", str(INPUTS / "loops.asm")],
        "openssl sha256": ["openssl", "speed", "-seconds", "1", "-bytes", "16384", "sha256"],
        "openssl aes": ["openssl", "speed", "-seconds", "1", "-bytes", "16384", "-evp",
                        "aes-256-gcm"],
        "openssl rsa": ["openssl", "speed", "-seconds", "1", "rsa2048", "ecdsap256"],
        "n-body, FFT": [str(inputs / "nbody"), "200000"],
        "C++ exceptions": [str(inputs / "exceptions"), "20000"],
        "bc": ["bc", "-lq", str(inputs / "pi.bc")],
        "7z": ["7zz", "a", "-mmt=off", "-mx=3", "-so", "-txz", "dummy", text],
        "zstd": ["zstd", "--single-thread", "-12", "-q", "-c", text],
        "brotli": ["brotli", "-q", "6", "-c", text],
        "lz4": ["lz4", "-9", "-q", "-c", text],
        "git": ["git", "-c", "pack.threads=1", "-C", str(inputs / "repository"), "repack", "-q",
                "-a", "-d", "-f", "--depth=20"],
        "sort": ["sort", "--parallel=1", text],
        "busybox": ["busybox", "sha512sum", text],
        "z3": ["z3", str(INPUTS / "puzzle.smt2")],
        "minisat": ["minisat", "-verb=0", str(inputs / "clauses.cnf")],
        "phalanx": ["/usr/games/phalanx", "-b", "-", "-o", "-", "-l", "-"],
        "gnugo": ["/usr/games/gnugo", "--quiet", "--seed", "1", "--level", "5", "--boardsize", "9",
                  "--benchmark", "1"],
    }


def programs(inputs):
    """Returns {name: command}. Commands are started in the folder `inputs` and write there, as some
    would replace an output file that is /dev/null."""
    return {**workloads.COMMANDS, **interpreters(inputs), **media(inputs), **tools(inputs)}


def run(command, **options):
    """Makes an input if the program that makes it is installed."""
    if shutil.which(str(command[0])):
        subprocess.run(command, check=True, **options)


def make_repository(inputs):
    """Makes a repository with twenty versions of a text, for git to compare."""
    folder = inputs / "repository"
    if folder.exists() or not shutil.which("git"):
        return
    lines = (inputs / "text.txt").read_text(encoding="ascii").splitlines(keepends=True)[:8000]
    git = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for version in range(20):
        (folder / "text").write_text("".join(lines[version * 97:] + lines[:version * 31]),
                                     encoding="ascii")
        subprocess.run([*git, "add", "text"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"version {version}"], check=True)


def make_pictures(inputs):
    image = inputs / "image.png"
    run([sys.executable, PROGRAMS / "image.py", image])
    run(["convert-im6.q16", image, inputs / "image.ppm"])
    lines = (inputs / "text.txt").read_text(encoding="ascii").splitlines()[:16]
    shown = "".join(f"60 {740 - 24 * i} moveto ({line[:60]}) show\n" for i, line in enumerate(lines))
    (inputs / "page.ps").write_text(f"%!PS\n/Helvetica findfont 14 scalefont setfont\n{shown}showpage\n",
                                    encoding="ascii")
    run(["gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pnggray", "-r150",
         f"-sOutputFile={inputs / 'page.png'}", inputs / "page.ps"])
    (inputs / "frames.yuv").write_bytes((inputs / "text.txt").read_bytes()[:10 * 393216])
    with open(inputs / "roads.dot", "wb") as roads:
        run([sys.executable, INPUTS / "graph.py"], stdout=roads)
    for kind in "svg", "ps":
        run(["dot", f"-T{kind}", "-o", inputs / f"roads.{kind}", inputs / "roads.dot"])
    if not (inputs / "sound.wav").exists():
        run(["sox", "-R", "-n", "-r", "48000", "-b", "16", "-c", "2", inputs / "sound.wav", "synth", "40",
             "pluck", "C4", "synth", "40", "pinknoise", "mix", "vol", "0.5"])


def make_inputs(inputs):
    """Makes the inputs of the programs, and our own programs."""
    workloads.make_inputs(inputs)
    make_pictures(inputs)
    make_repository(inputs)
    # Standard input of all programs; the chess program reads it.
    (inputs / "moves").write_text("depth 9\ngo\nquit\n")
    (inputs / "pi.bc").write_text("scale=1500\n4*a(1)\nquit\n")
    with open(inputs / "clauses.cnf", "wb") as clauses:
        run([sys.executable, INPUTS / "clauses.py"], stdout=clauses)
    source = str(PROGRAMS / "nbody.c")
    run(["cc", "-O3", "-march=native", "-ffast-math", "-o", inputs / "nbody", source, "-lm"])
    run(["cc", "-E", "-o", inputs / "nbody.i", source])
    run(["c++", "-std=c++17", "-O2", "-o", inputs / "exceptions", PROGRAMS / "exceptions.cc"])
