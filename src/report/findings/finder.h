// Looks for findings in a profile.
#pragma once

#include <span>

#include "report/annotate/annotator.h"
#include "report/findings/finding.h"

namespace shadowprof {

// In the hottest functions, what is worth most first; nothing whose share is not certain, at 95%,
// to reach what its kind asks for. `annotator` must be of `profile`.
//
// What is certain of shares: Wilson's interval for as many independent executions as there were,
// but no more than a few a sample, as executions that follow each other are alike. Exact profiles
// have no such limit.
std::vector<Finding> find_findings(const Profile& profile, Annotator& annotator);

// The lower end of Wilson's 95% interval (Wilson 1927) for the share of `hits` in `trials`.
double wilson_lower(double hits, double trials);

}  // namespace shadowprof
