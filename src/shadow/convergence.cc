#include "shadow/convergence.h"

#include <algorithm>

namespace shadowprof {
namespace {

// Of fewer batches even errors are not known well.
constexpr std::uint64_t least_batches = 32;
constexpr int convergence_look_share = 100;
constexpr std::chrono::milliseconds least_between_convergence_looks{20};

}  // namespace

void ConvergenceWatch::observe(std::uint64_t samples, Clock::time_point now) {
    if (is_converged() || now < next_look_) return;
    const auto start = Clock::now();
    const auto errors = profile_.edge_errors(least_batches);
    const auto cost = Clock::now() - start;
    next_look_ = now + std::max<Clock::duration>(convergence_look_share * cost,
                                                 least_between_convergence_looks);
    if (!errors || 100 * *errors > limit_percent_) return;
    reached_.reached = true;
    reached_.error_percent = 100 * *errors;
    reached_.seconds = std::chrono::duration<double>(now - begin_).count();
    reached_.samples = samples;
}

Convergence ConvergenceWatch::result() const {
    auto result = reached_;
    result.limit_percent = limit_percent_;
    if (is_converged()) return result;
    if (const auto errors = profile_.edge_errors(0)) result.error_percent = 100 * *errors;
    return result;
}

}  // namespace shadowprof
