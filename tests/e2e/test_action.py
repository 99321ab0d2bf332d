"""The GitHub Action (action.yml): its scripts, in the environment that its steps give them."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import yaml

from harness import SHADOWPROF, SOURCE, TestCase, main

EXCEEDED = 3
PROGRAM = """
__attribute__((noinline)) unsigned checksum(unsigned seed) {
    for (unsigned i = 0; i < ROUNDS; ++i) seed = seed * 31 + i;
    return seed;
}
int main(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 100; ++i) sum += checksum(i);
    return sum == 12345;
}
"""
EXPRESSION = re.compile(r"\$\{\{ *inputs\.([a-z0-9-]+) *\}\}")


def read_action():
    return yaml.safe_load((SOURCE / "action.yml").read_text())


class Action(TestCase):
    def setUp(self):
        super().setUp()
        self.action = read_action()
        self.steps = {step["name"]: step for step in self.action["runs"]["steps"]}
        self.temporary = self.folder / "runner"
        self.files = {name: self.folder / name for name in ("OUTPUT", "STEP_SUMMARY", "PATH")}
        # Where the step that gets shadowprof would put it.
        self.bin = self.temporary / "shadowprof/bin"
        self.bin.mkdir(parents=True)

    def build(self, rounds):
        source, program = self.folder / "work.c", self.folder / "work"
        source.write_text(PROGRAM)
        subprocess.run(["gcc", "-O1", "-g", f"-DROUNDS={rounds}", "-o", program, source], check=True)
        return program

    def step(self, step_name, /, **inputs):
        """Runs the script of a step as GitHub would, with these inputs."""
        step = self.steps[step_name]
        values = {key: str(spec.get("default", "")) for key, spec in self.action["inputs"].items()}
        values.update({key.replace("_", "-"): str(value) for key, value in inputs.items()})
        self.assertLessEqual(values.keys(), self.action["inputs"].keys())
        given = {key: EXPRESSION.sub(lambda found: values[found[1]], text)
                 for key, text in step.get("env", {}).items()}
        for file in self.files.values():
            file.touch()
        environment = {"GITHUB_ACTION_PATH": str(SOURCE), "RUNNER_TEMP": str(self.temporary),
                       "PATH": f"{self.bin}:{os.environ['PATH']}",
                       **{f"GITHUB_{key}": str(path) for key, path in self.files.items()}, **given}
        return self.run_command(["sh", "-e", "-c", step["run"]], env=environment)

    def link_program(self):
        (self.bin / "shadowprof").symlink_to(pathlib.Path(SHADOWPROF).resolve())

    def output(self, name):
        values = dict(line.split("=", 1) for line in self.files["OUTPUT"].read_text().splitlines())
        return values.get(name)

    def test_every_input_is_used_and_every_used_one_exists(self):
        text = (SOURCE / "action.yml").read_text()
        self.assertEqual(set(re.findall(r"inputs\.([a-z0-9-]+)", text)), set(self.action["inputs"]))
        for step in self.steps.values():
            if "action/" in step.get("run", ""):
                script = SOURCE / re.search(r"action/[a-z-]+", step["run"])[0]
                self.assertTrue(os.access(script, os.X_OK), script)
            # Inputs come by the environment: in a script's text they would be code.
            self.assertNotIn("${{", step.get("run", ""))

    def test_what_is_cached_is_where_the_scripts_have_it(self):
        done = self.step("Name a folder")
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(self.output("path"), str(self.bin.parent))
        self.assertRegex(self.output("sources"), r"^[0-9a-f]{64}$")
        folder = "${{ steps.folder.outputs.path }}"
        paths = {name: step["with"]["path"] for name, step in self.steps.items() if "with" in step}
        self.assertEqual(paths.pop("Restore what was built"), f"{folder}/bin")
        self.assertEqual(set(paths.values()), {folder + "/${{ inputs.name }}/base.json.gz"})

    def test_a_branch_is_compared_with_the_profile_of_its_base(self):
        self.link_program()
        first = self.step("Count and compare", command=self.build(1000))
        self.assertEqual(first.code, 0, first.stdout.decode() + first.stderr)
        self.assertIn("::notice::", first.stdout.decode())
        self.assertIsNone(self.output("status"))
        self.assertEqual(self.step("Make it the base of later changes").code, 0)

        same = self.step("Count and compare", command=self.build(1000))
        self.assertEqual(same.code, 0, same.stdout.decode() + same.stderr)
        self.assertEqual(self.output("status"), "0")
        self.assertIn("instructions", self.files["STEP_SUMMARY"].read_text())

        limits = "instructions>+2%\nfunction:check*>+5%"
        slower = self.step("Count and compare", command=self.build(1100), limits=limits)
        self.assertEqual(slower.code, EXCEEDED, slower.stdout.decode() + slower.stderr)
        # A push makes it the base all the same.
        for name in ("Make it the base of later changes", "Save it"):
            self.assertIn("always()", self.steps[name]["if"])
        self.assertEqual(self.output("status"), str(EXCEEDED))
        errors = [line for line in slower.stdout.decode().splitlines() if line.startswith("::error")]
        self.assertEqual(len(errors), 2, slower.stdout.decode())
        self.assertTrue(pathlib.Path(self.output("profile")).exists())

        loose = self.step("Count and compare", command=self.build(1100), limits="instructions>+50%")
        self.assertEqual(loose.code, 0, loose.stdout.decode() + loose.stderr)

    def test_both_states_can_be_counted_in_one_job(self):
        self.link_program()
        new = self.build(1100)
        old = new.rename(self.folder / "old")
        new = self.build(1100)
        done = self.step("Count and compare", command=f"{new} && true", base_command=old, name="two")
        self.assertEqual(done.code, 0, done.stdout.decode() + done.stderr)
        self.build(1500)
        done = self.step("Count and compare", command=new, base_command=old, name="two")
        self.assertEqual(done.code, EXCEEDED, done.stdout.decode() + done.stderr)

    def test_a_program_that_fails_fails_the_step(self):
        self.link_program()
        done = self.step("Count and compare", command="exit 7")
        self.assertEqual(done.code, 7, done.stderr)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_a_binary_is_taken_if_its_check_sum_is_right(self):
        program = pathlib.Path(SHADOWPROF).resolve()
        url, right = program.as_uri(), hashlib.sha256(program.read_bytes()).hexdigest()
        for bad in ("", right[::-1]):
            done = self.step("Get shadowprof", url=url, sha256=bad)
            self.assertEqual(done.code, 1, done.stdout)
            self.assertIn("::error::", done.stdout.decode())
            self.assertFalse((self.bin / "shadowprof").exists())
        done = self.step("Get shadowprof", url=url, sha256=right)
        self.assertEqual(done.code, 0, done.stdout.decode() + done.stderr)
        self.assertIn("shadowprof ", done.stdout.decode())
        self.assertEqual(self.files["PATH"].read_text(), f"{self.bin}\n")


if __name__ == "__main__":
    main()
