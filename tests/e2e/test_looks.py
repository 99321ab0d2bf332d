"""Looks at running threads, where the kernel's clock of processor time is too dear or refused."""

import bisect
import ctypes
import math
import struct

from harness import TestCase, main, victim

SHARES = {"serving_most": 0.6, "serving_some": 0.3, "serving_little": 0.1}
# Enough to tell the functions apart.
LOOKS = 60
# Standard deviations. A correct share lies outside once in a few million times.
DEVIATIONS = 5

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
SYS_PERF_EVENT_OPEN, EACCES = 298, 13


def refuse_the_clock():
    """Has the kernel refuse perf_event_open to the calling process and its children, as it does
    in containers."""
    allow, refuse = 0x7fff0000, 0x00050000 | EACCES
    program = b"".join(struct.pack("HBBI", *each) for each in (
        (0x20, 0, 0, 0),  # load the number of the system call
        (0x15, 0, 1, SYS_PERF_EVENT_OPEN),
        (0x06, 0, 0, refuse),
        (0x06, 0, 0, allow)))
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def looks(profile, where=""):
    return profile["sampling"]["counters"].get("looks" + where, 0)


class Looks(TestCase):
    def looked_at(self, *words, **more):
        """Profiles ever more work until there were enough looks at the program's code."""
        program = victim("serving")

        def enough(profile):
            return looks(profile) - looks(profile, "_in_kernel") >= LOOKS

        done, profile = self.profile_until(
            enough, lambda factor: (program, *words, str(60_000 * factor)), module=program,
            options=("--budget=1", "--profiles=path"), **more)
        self.assertEqual(done.code, 0, done.stderr)
        self.assertTrue(enough(profile), profile["sampling"]["counters"])
        return profile

    def assert_shares(self, profile):
        """What was looked at has the shares of the functions, within what chance explains."""
        starts = sorted((address, name) for name, address in profile.symbols.items())
        found = dict.fromkeys(SHARES, 0)
        for each in profile["clock"]:
            at = profile.locations[each["at"]]
            if at["module"] != profile.module:
                continue
            before = bisect.bisect_right(starts, int(at["address"], 16), key=lambda each: each[0])
            name = starts[before - 1][1] if before else None
            if name in found:
                found[name] += each["time_ns"]
        whole = sum(found.values())
        counted = looks(profile) - looks(profile, "_in_kernel")
        for name, share in SHARES.items():
            error = math.sqrt(share * (1 - share) / counted)
            self.assertAlmostEqual(found[name] / whole, share, delta=DEVIATIONS * error + 0.02,
                                   msg=f"{found}, {counted} looks")

    def test_a_server_that_is_scheduled_all_the_time(self):
        profile = self.looked_at("client")
        self.assert_shares(profile)
        # It executes system calls for much of its time.
        self.assertGreater(looks(profile, "_in_kernel"), 0)
        # What had ticked before is still there.
        counters = profile["sampling"]["counters"]
        in_program = looks(profile) - looks(profile, "_in_kernel")
        self.assertEqual(sum(each["ticks"] for each in profile["clock"]),
                         counters["clock_ticks"] + in_program)
        self.assertFalse([note for note in profile["notes"] if "clock" in note])

    def test_a_clock_that_is_refused(self):
        profile = self.looked_at("alone", preexec_fn=refuse_the_clock)
        self.assert_shares(profile)
        self.assertEqual(profile["sampling"]["counters"]["clock_ticks"], 0)
        self.assertLess(looks(profile, "_in_kernel"), looks(profile) / 10)
        summary = self.shadowprof("report", self.profile_path).stdout.decode()
        self.assertIn(" looks: ", summary)


if __name__ == "__main__":
    main()
