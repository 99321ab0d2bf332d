// Post-stratification of samples by looks at threads (Cochran, "Sampling Techniques", 5A.9;
// Särndal, Swensson and Wretman, "Model Assisted Survey Sampling", 7.6).
//
// Samples begin at random moments, so a function should have the same share of the moments as of
// the time. Among a few dozen moments its share is larger or smaller by chance. Looks
// (shadow/looks/thread_looks.h) are ten times as many and so measure the share more closely.
// Samples that begin in a function are weighted so that together they stand for the function's time
// by looks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "profile/code_location.h"

namespace shadowprof {

// Where a sample, or a part of one, began. `function` is nothing if it began in the kernel's code
// or counts nothing. `start` is nothing if it began in code where no function is known.
struct SampleOrigin {
    struct Function {
        std::optional<CodeLocation> start;
        friend auto operator<=>(const Function&, const Function&) = default;
    };
    std::optional<Function> function;
    double time_ns = 0;  // the time that the part stands for
    bool has_one_thread = true;
    bool is_first_part = true;  // false: a further part of the sample before
};

struct TimeWeights {
    // The factor for the weight of each part.
    std::vector<double> factors;
    // The stratum of each part, for errors. Functions with few samples form one stratum, as their
    // samples are too few to estimate a variance. Parts that looks do not know are in the
    // last one.
    std::vector<std::uint32_t> strata;
    std::uint32_t known_strata = 0;
    std::uint64_t looks = 0;  // in the known strata
};

// Computes the weights. `looks` are those in the program's own code, by function. Only samples that
// began there are weighted. There are no known strata, and all factors are 1, if any sample had
// several threads, if there are too few samples or looks, or if looks have not seen the whole time:
// they miss threads that live for a few milliseconds.
TimeWeights weigh_by_time(std::span<const SampleOrigin> samples,
                          const std::map<SampleOrigin::Function, std::uint64_t>& looks,
                          double ns_per_look);

}  // namespace shadowprof
