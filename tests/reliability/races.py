#!/usr/bin/env python3
"""Runs a build with ThreadSanitizer in all modes, and counts the data races that it reports.

tests/reliability/races.py --build-dir DIR --plain-build-dir DIR

The first folder has a build with -Db_sanitize=thread. Worker processes are those of the second one:
they are single-threaded, and ThreadSanitizer's shadow memory would occupy the guest's addresses.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Workers are started as /proc/self/exe.
PRELOAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const argv[], char* const environment[]) {
    int (*next)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                char* const[], char* const[]) = dlsym(RTLD_NEXT, "posix_spawn");
    if (strcmp(path, "/proc/self/exe") == 0) path = getenv("PLAIN_WORKER");
    return next(pid, path, actions, attributes, argv, environment);
}
"""
# A control with a race that the sanitizer must report.
RACE = r"""
#include <pthread.h>
static int shared;
static void* add(void* unused) {
    for (int i = 0; i < 1000; ++i) ++shared;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, add, 0);
    add(0);
    return pthread_join(thread, 0);
}
"""
FAMILY = "{victims}/edges; {victims}/values & {victims}/paths; wait"
RUNS = {
    "threads": ["run", "--load=2", "{victims}/threads", "4", "1000"],
    "recorded input of threads": ["run", "--load=2", "--record-input", "{victims}/input",
                                  "threads", "32"],
    "recorded input of a server": ["run", "--load=2", "--record-input", "{victims}/input", "epoll",
                                   "32"],
    "children": ["run", "--load=2", "sh", "-c", FAMILY],
    "exact": ["run", "--mode=exact", "{victims}/edges"],
    "bursts": ["run", "--mode=live", "{victims}/values"],
    "attach": ["attach", "--load=2", "--duration=3s"],
}


def compiled(folder, name, source, *options):
    path = folder / name
    subprocess.run(["cc", "-x", "c", "-", "-g", "-pthread", *options, "-o", str(path)],
                   input=source.encode(), check=True)
    return path


def reports(folder, prefix):
    return sum(path.read_text(errors="replace").count("WARNING: ThreadSanitizer")
               for path in folder.glob(prefix + ".*"))


def measure(options, folder, preload, number, name, words):
    """Prints a row. Returns whether nothing was reported in a run that did some work."""
    victims = options.plain_build_dir / "tests/victims"
    words = [word.format(victims=victims) for word in words]
    target = None
    if words[0] == "attach":
        target = subprocess.Popen([str(victims / "threads"), "4", "100000"],
                                  stdout=subprocess.DEVNULL)
        words.append(str(target.pid))
    profile = folder / f"{number}.json"
    environment = os.environ | {
        "LD_PRELOAD": str(preload), "TSAN_OPTIONS": f"log_path={folder}/report{number}",
        "PLAIN_WORKER": str(options.plain_build_dir / "src/cli/shadowprof")}
    subprocess.run([str(options.build_dir / "src/cli/shadowprof"), words[0], "-q", "-o",
                    str(profile), *words[1:]], env=environment, stdout=subprocess.DEVNULL)
    if target is not None:
        target.kill()
        target.wait()
    sampling = json.loads(profile.read_text())["sampling"]
    races = reports(folder, f"report{number}")
    print(f"| {name} | {sampling['samples']} | {sampling['instructions'] / 1e6:.0f} M | {races} |",
          flush=True)
    return races == 0 and sampling["instructions"] > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--plain-build-dir", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    options.plain_build_dir = options.plain_build_dir.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        preload = compiled(folder, "preload.so", PRELOAD, "-shared", "-fPIC")
        race = compiled(folder, "race", RACE, "-fsanitize=thread")
        subprocess.run([str(race)], env=os.environ | {"TSAN_OPTIONS": f"log_path={folder}/control"})
        if reports(folder, "control") == 0:
            sys.exit("races.py: ThreadSanitizer does not see the race of the control")
        print("| what | samples | instructions | data races reported |\n|---|---|---|---|")
        rows = [measure(options, folder, preload, i, *row) for i, row in enumerate(RUNS.items())]
        return 0 if all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
