// Looks for findings in a profile.
#pragma once

#include <span>

#include "report/annotate/annotator.h"
#include "report/findings/finding.h"

namespace shadowprof {

// Returns findings in the hottest functions, the most valuable first. A finding is left out unless
// its share certainly, at 95%, reaches the threshold of its kind. `annotator` must be of `profile`.
//
// Bounds of shares are Wilson's interval for the number of independent executions. In sampled
// profiles that is at most a few per sample, as executions that follow each other are alike.
std::vector<Finding> find_findings(const Profile& profile, Annotator& annotator);

// The lower end of Wilson's 95% interval (Wilson 1927) for the share of `hits` in `trials`.
double wilson_lower(double hits, double trials);

}  // namespace shadowprof
