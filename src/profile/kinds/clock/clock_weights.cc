#include "profile/kinds/clock/clock_weights.h"

#include <algorithm>

namespace shadowprof {
namespace {

using Function = SampleOrigin::Function;
using Ticks = std::map<Function, std::uint64_t>;

constexpr std::uint64_t fewest_samples = 8;
// Least number of the clock's ticks per sample.
constexpr double fewest_ticks_per_sample = 4;
// Bounds for the time of the samples that began in the program's code, as a share of the clock's
// time. Both times are of the same code, but some samples began in the kernel by chance.
constexpr double min_of_clock = 0.75, max_of_clock = 1.2;
// If at least this many samples began in a function without a tick, the clock does not see the
// function, as in a process that lives for a few milliseconds. Fewer samples may have begun there
// by chance.
constexpr std::uint64_t fewest_unseen = 4;
// Bounds for factors. A factor outside means that the function has too few samples to measure it
// by, or far more samples than its time explains.
constexpr double min_factor = 0.25, max_factor = 4;
// With fewer samples, the variance within a function is not known.
constexpr std::uint64_t fewest_of_stratum = 4;

struct OfFunction {
    double samples_ns = 0;
    std::uint64_t samples = 0;
    std::uint64_t ticks = 0;
    double factor = 1;
    std::uint32_t stratum = 0;
};
using Functions = std::map<Function, OfFunction>;

Functions functions_of(std::span<const SampleOrigin> samples, const Ticks& ticks) {
    Functions functions;
    for (const SampleOrigin& sample : samples) {
        if (!sample.function) continue;
        auto& function = functions[*sample.function];
        function.samples_ns += sample.time_ns;
        function.samples += sample.is_first_part;
    }
    for (auto& [function, of] : functions)
        if (const auto known = ticks.find(function); known != ticks.end()) of.ticks = known->second;
    std::erase_if(functions, [&](const auto& each) {
        const OfFunction& of = each.second;
        const bool is_seen = of.ticks != 0 || of.samples < fewest_unseen;
        return of.samples_ns <= 0 || !is_seen;
    });
    return functions;
}

template <typename Sum>
Sum sum_of(const Functions& functions, Sum OfFunction::*member) {
    Sum sum = 0;
    for (const auto& [function, of] : functions) sum += of.*member;
    return sum;
}

bool says_more(const Functions& functions, const Ticks& ticks, double ns_per_tick) {
    double all_ticks = 0;
    for (const auto& [function, count] : ticks) all_ticks += static_cast<double>(count);
    const auto samples = sum_of(functions, &OfFunction::samples);
    const double seen = sum_of(functions, &OfFunction::samples_ns) / (all_ticks * ns_per_tick);
    return samples >= fewest_samples && sum_of(functions, &OfFunction::ticks) != 0 &&
           all_ticks >= fewest_ticks_per_sample * static_cast<double>(samples) &&
           seen >= min_of_clock && seen <= max_of_clock;
}

// Functions in which no sample began are left out, so that the others share their time.
void set_factors(Functions& functions) {
    const auto all_ticks = static_cast<double>(sum_of(functions, &OfFunction::ticks));
    const double all_ns = sum_of(functions, &OfFunction::samples_ns);
    for (auto& [function, of] : functions) {
        const double by_clock = static_cast<double>(of.ticks) / all_ticks;
        of.factor = std::clamp(by_clock * all_ns / of.samples_ns, min_factor, max_factor);
    }
}

// Returns the number of strata. Functions with few samples form the first one.
std::uint32_t set_strata(Functions& functions) {
    std::uint64_t few = 0;
    for (auto& [function, of] : functions)
        if (of.samples < fewest_of_stratum) few += of.samples;
    // If all these together still have too few samples, they join the next function's stratum.
    std::uint32_t strata = few >= fewest_of_stratum ? 1 : 0;
    for (auto& [function, of] : functions)
        if (of.samples >= fewest_of_stratum) of.stratum = strata++;
    return std::max<std::uint32_t>(strata, 1);
}

}  // namespace

ClockWeights weigh_by_clock(std::span<const SampleOrigin> samples, const Ticks& ticks,
                            double ns_per_tick) {
    ClockWeights weights{.factors = std::vector(samples.size(), 1.0),
                         .strata = std::vector<std::uint32_t>(samples.size(), 0)};
    auto functions = functions_of(samples, ticks);
    if (!std::ranges::all_of(samples, &SampleOrigin::has_one_thread) ||
        !says_more(functions, ticks, ns_per_tick))
        return weights;
    set_factors(functions);
    weights.known_strata = set_strata(functions);
    weights.ticks = sum_of(functions, &OfFunction::ticks);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto of =
            samples[i].function ? functions.find(*samples[i].function) : functions.end();
        const bool is_known = of != functions.end();
        weights.strata[i] = is_known ? of->second.stratum : weights.known_strata;
        if (is_known) weights.factors[i] = of->second.factor;
    }
    return weights;
}

}  // namespace shadowprof
