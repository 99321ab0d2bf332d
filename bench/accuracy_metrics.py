"""Runs `shadowprof accuracy` on two profiles."""

import json
import subprocess

# (title, metric, its measure in the output of `accuracy --json`)
METRICS = (("edges", "edges", "accuracy"), ("paths", "paths", "accuracy"),
           ("call pairs", "calls", "overlap"), ("methods", "methods", "overlap"),
           ("values, difference", "values", "difference"),
           ("invariances, difference", "invariances", "difference"),
           ("values, covered", "values", "covered"),
           ("streams", "streams", "overlap"))
COVERAGE = "coverage"


def measure(shadowprof, full, sampled):
    """Returns {title: percent} of the metrics that both profiles have, and COVERAGE if it is known.
    Needs paths of profiles."""
    done = subprocess.run([shadowprof, "accuracy", "--json", "--top=0", full, sampled], check=True,
                          stdout=subprocess.PIPE)
    seen = json.loads(done.stdout)
    found = {title: 100 * seen[metric][part] for title, metric, part in METRICS
             if seen[metric] and part in seen[metric]}
    if seen["coverage"] is not None:
        found[COVERAGE] = 100 * seen["coverage"]
    return found
