"""How far a count in a sampled profile may lie from its expectation.

A correct profiler passes all but one of 10^9 checks, and bounds are no wider than that needs."""

import math

# Two-sided normal tail of 6e-12: room for the normal approximation at small counts.
SIGMAS = 6.9

# Samples may overlap in the target's time and then count the same executions twice.
OVERLAP_VARIANCE = 2.0


def binomial(executions, probability, hotlist_error=0.0):
    """Allowed distance of a count from executions * probability, when each execution decides
    independently. `hotlist_error` is the half width of the count's own 95% interval."""
    sigma = math.sqrt(OVERLAP_VARIANCE * executions * probability * (1 - probability))
    return math.hypot(SIGMAS * sigma, hotlist(hotlist_error)) + 1


def hotlist(error):
    """Allowed distance of a hotlist's estimate from the count that it estimates; `error` is the
    half width of its 95% interval."""
    return SIGMAS / 1.96 * error


def periodic(windows, per_period):
    """Allowed distance between the counts of two events of a loop that repeats exactly, scaled
    to the same frequency: each window of consecutive instructions is off by less than the events
    of one period."""
    return windows * per_period


def odds(samples, share, rest):
    """The factor by which the odds of a phase may be off, in either direction. Samples begin at
    random moments, so they fall into the phase for a `share` of the time, and into the others
    for their `rest`."""
    variance = OVERLAP_VARIANCE / samples * (1 / share + 1 / rest)
    return math.exp(SIGMAS * math.sqrt(variance))
