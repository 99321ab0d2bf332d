#include "shadow/results/convergence.h"

#include <algorithm>

namespace shadowprof {
namespace {

// With fewer batches even errors are not known well.
constexpr std::uint64_t min_batches = 32;
constexpr int convergence_look_share = 100;
constexpr std::chrono::milliseconds min_between_convergence_checks{20};

}  // namespace

void ConvergenceWatch::observe(std::uint64_t samples, PhaseState phase, Clock::time_point now) {
    if (!first_sample_at_) first_sample_at_ = now;
    samples_ = samples;
    phase_ = phase;
    if (is_converged() && phase == PhaseState::is_new) take_up_again();
    if (phase != PhaseState::known || now < next_observation_) return;
    const auto error = error_percent(now);
    if (!error) return;
    if (is_converged()) {
        if (*error > max_growth * limit_percent_) take_up_again();
    } else if (*error <= limit_percent_) {
        converge(*error, now);
    }
}

std::optional<double> ConvergenceWatch::error_percent(Clock::time_point now) {
    const auto start = Clock::now();
    const auto errors = profile_.edge_errors(min_batches);
    const auto cost = Clock::now() - start;
    next_observation_ = now + std::max<Clock::duration>(convergence_look_share * cost,
                                                        min_between_convergence_checks);
    if (!errors) return std::nullopt;
    return 100 * *errors;
}

void ConvergenceWatch::converge(double error_percent, Clock::time_point now) {
    converged_at_ = now;
    reached_.reached = true;
    reached_.error_percent = error_percent;
    reached_.seconds = std::chrono::duration<double>(now - begin_).count();
    reached_.samples = samples_;
}

void ConvergenceWatch::take_up_again() {
    reached_ = {.taken_up_again = reached_.taken_up_again + 1};
}

double ConvergenceWatch::stretch() const {
    return is_converged() && phase_ == PhaseState::known ? sparse_stretch : 1;
}

bool ConvergenceWatch::has_lasted(Clock::time_point now) const {
    if (!is_converged() || phase_ != PhaseState::known) return false;
    const auto took = converged_at_ - *first_sample_at_;
    return now - converged_at_ >= took && samples_ - *reached_.samples >= min_sparse_samples;
}

Convergence ConvergenceWatch::result() const {
    auto result = reached_;
    result.limit_percent = limit_percent_;
    if (is_converged()) return result;
    if (const auto errors = profile_.edge_errors(0)) result.error_percent = 100 * *errors;
    return result;
}

}  // namespace shadowprof
