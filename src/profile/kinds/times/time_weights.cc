#include "profile/kinds/times/time_weights.h"

#include <algorithm>

namespace shadowprof {
namespace {

using Function = SampleOrigin::Function;
using Looks = std::map<Function, std::uint64_t>;

constexpr std::uint64_t fewest_samples = 8;
// Least number of looks per sample.
constexpr double fewest_looks_per_sample = 4;
// Bounds for the time of the samples that began in the program's code, as a share of the time
// by looks. Both times are of the same code, but some samples began in the kernel by chance.
constexpr double min_of_looks = 0.75, max_of_looks = 1.2;
// If at least this many samples began in a function without a look, looks do not see the
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
    std::uint64_t looks = 0;
    double factor = 1;
    std::uint32_t stratum = 0;
};
using Functions = std::map<Function, OfFunction>;

Functions functions_of(std::span<const SampleOrigin> samples, const Looks& looks) {
    Functions functions;
    for (const SampleOrigin& sample : samples) {
        if (!sample.function) continue;
        auto& function = functions[*sample.function];
        function.samples_ns += sample.time_ns;
        function.samples += sample.is_first_part;
    }
    for (auto& [function, of] : functions)
        if (const auto known = looks.find(function); known != looks.end()) of.looks = known->second;
    std::erase_if(functions, [&](const auto& each) {
        const OfFunction& of = each.second;
        const bool is_seen = of.looks != 0 || of.samples < fewest_unseen;
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

bool says_more(const Functions& functions, const Looks& looks, double ns_per_look) {
    double all_looks = 0;
    for (const auto& [function, count] : looks) all_looks += static_cast<double>(count);
    const auto samples = sum_of(functions, &OfFunction::samples);
    const double seen = sum_of(functions, &OfFunction::samples_ns) / (all_looks * ns_per_look);
    return samples >= fewest_samples && sum_of(functions, &OfFunction::looks) != 0 &&
           all_looks >= fewest_looks_per_sample * static_cast<double>(samples) &&
           seen >= min_of_looks && seen <= max_of_looks;
}

// Functions in which no sample began are left out, so that the others share their time.
void set_factors(Functions& functions) {
    const auto all_looks = static_cast<double>(sum_of(functions, &OfFunction::looks));
    const double all_ns = sum_of(functions, &OfFunction::samples_ns);
    for (auto& [function, of] : functions) {
        const double by_looks = static_cast<double>(of.looks) / all_looks;
        of.factor = std::clamp(by_looks * all_ns / of.samples_ns, min_factor, max_factor);
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

TimeWeights weigh_by_time(std::span<const SampleOrigin> samples, const Looks& looks,
                          double ns_per_look) {
    TimeWeights weights{.factors = std::vector(samples.size(), 1.0),
                        .strata = std::vector<std::uint32_t>(samples.size(), 0)};
    auto functions = functions_of(samples, looks);
    if (!std::ranges::all_of(samples, &SampleOrigin::has_one_thread) ||
        !says_more(functions, looks, ns_per_look))
        return weights;
    set_factors(functions);
    weights.known_strata = set_strata(functions);
    weights.looks = sum_of(functions, &OfFunction::looks);
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
