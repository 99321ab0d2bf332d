"""How far a count in a sampled profile may lie from its expectation.

Every bound is so wide that a right profiler passes it in all but one of 10^9 checks, and no wider."""

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
    """Allowed distance between the counts of two events of a loop that repeats exactly, once
    scaled to the same frequency: each window of consecutive instructions is off by less than what
    one period holds."""
    return windows * per_period


def odds(samples, share, rest):
    """By which factor the odds of a phase may be off its truth, either way, where samples begin at random
    moments and so fall into it, and into the others, by their `share` and `rest` of the time."""
    variance = OVERLAP_VARIANCE / samples * (1 / share + 1 / rest)
    return math.exp(SIGMAS * math.sqrt(variance))
