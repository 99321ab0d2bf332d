"""The accuracy of a sampled profile S against a full one F, both as shadowprof writes them."""

import math


def _location(profile, index):
    place = profile["locations"][index]
    return profile["modules"][place["module"]]["path"], place["address"]


def edges(profile):
    counts = {}
    for edge in profile["edges"]:
        key = _location(profile, edge["from"]), _location(profile, edge["to"]), edge["kind"]
        counts[key] = counts.get(key, 0) + edge["count"]
    return counts


def paths(profile):
    counts = {}
    for path in profile["paths"]:
        key = tuple(_location(profile, block) for block in path["blocks"])
        counts[key] = counts.get(key, 0) + path["count"]
    return counts


def _shares(counts):
    total = sum(counts.values())
    return {key: count / total for key, count in counts.items()} if total else {}


def edge_accuracy(full, sampled):
    """(2 - sum of |r_F(e) - r_S(e)|) / 2 over the edges of both (instant-profiling, 5.2)."""
    f, s = _shares(edges(full)), _shares(edges(sampled))
    return (2 - sum(abs(f.get(key, 0) - s.get(key, 0)) for key in f.keys() | s.keys())) / 2


def path_accuracy(full, sampled):
    """Wall's weight matching of the hottest 5% of the full profile's paths (shadow-profiling, 4.2)."""
    f, s = _shares(paths(full)), _shares(paths(sampled))
    size = max(1, math.floor(0.05 * len(f)))
    hot_f = sorted(f, key=f.get, reverse=True)[:size]
    hot_s = set(sorted(s, key=s.get, reverse=True)[:size])
    return sum(f[path] for path in hot_f if path in hot_s) / sum(f[path] for path in hot_f)
