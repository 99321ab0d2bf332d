// Post-stratification of samples by the kernel's clock (Cochran, "Sampling Techniques", 5A.9;
// Särndal, Swensson and Wretman, "Model Assisted Survey Sampling", 7.6).
//
// Samples begin at moments that are random in time, so a function should have as large a share of
// the moments as it has of the time. Of a few dozen moments it has more or less by chance. The
// kernel's clock (ptrace/proc/task_clock.h) looks ten times as often and says more closely how
// large the share is. Samples that begin in a function are weighed so that together they stand for
// the time that the function has by the clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "profile/code_location.h"

namespace shadowprof {

// Where a sample, or a part of one, began. In the kernel's code, or if the sample counts nothing:
// no function. In code of which none is known: one without a start.
struct SampleOrigin {
    struct Function {
        std::optional<CodeLocation> start;
        friend auto operator<=>(const Function&, const Function&) = default;
    };
    std::optional<Function> function;
    double time_ns = 0;  // that it stands for
    bool has_one_thread = true;
    bool is_first_part = true;  // or another part of a sample that there is already
};

struct ClockWeights {
    // By how much the weight of each part is to be multiplied.
    std::vector<double> factors;
    // For errors: which stratum each is of. Functions with few samples are one, as nothing
    // can be said of how much two samples differ. What the clock does not know is the last one.
    std::vector<std::uint32_t> strata;
    std::uint32_t known_strata = 0;
    std::uint64_t ticks = 0;  // the clock's, in the known strata
};

// `ticks`: of the clock, by the function. Only samples that began in the program's own code are
// weighed, as the clock looks nowhere else. There are no known strata, and all factors are 1, where
// any sample had several threads, where there are too few samples or ticks to say more, and where
// the clock has not seen the whole time: it has none of threads that live for a few milliseconds.
ClockWeights weigh_by_clock(std::span<const SampleOrigin> samples,
                            const std::map<SampleOrigin::Function, std::uint64_t>& ticks,
                            double ns_per_tick);

}  // namespace shadowprof
