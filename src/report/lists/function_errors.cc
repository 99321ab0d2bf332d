#include "report/lists/function_errors.h"

#include <cmath>
#include <utility>

#include "profile/merge/join.h"
#include "profile/statistics/batch_means.h"

namespace shadowprof {
namespace {

using CountsByBatch = std::vector<double>;

std::map<CodeLocation, CountsByBatch> by_function(const FunctionBatches& batches,
                                                  SymbolSource& symbols) {
    std::map<CodeLocation, CountsByBatch> functions;
    for (const auto& part : batches.parts) {
        const auto start = symbols.symbol(part.at).function_start;
        if (!start || part.batch >= batches.sizes.size()) continue;
        auto& counts = functions[{part.at.module, *start}];
        counts.resize(batches.sizes.size());
        counts[part.batch] += part.instructions;
    }
    return functions;
}

// The errors of instructions, for all functions with some in any batch.
FunctionErrors::ByStart errors_of(const std::map<CodeLocation, CountsByBatch>& functions,
                                  const FunctionBatches& batches) {
    std::vector<StratumSums> open(functions.size());
    std::vector<ClosedSums> closed(functions.size());
    BatchSizes sizes;
    sizes.set_numbers(batches.numbers.looks, batches.numbers.samples);
    auto stratum_end = batches.stratum_ends.begin();
    for (std::size_t batch = 0; batch < batches.sizes.size(); ++batch) {
        const BatchSize size{batches.sizes[batch].instructions, batches.sizes[batch].time_ns};
        sizes.add(size);
        for (std::size_t i = 0; const auto& [start, counts] : functions)
            open[i++].add(counts[batch], size);
        if (stratum_end == batches.stratum_ends.end() || *stratum_end != batch + 1) continue;
        for (std::size_t i = 0; i < open.size(); ++i)
            sizes.close(std::exchange(open[i], {}), closed[i]);
        sizes.end_stratum();
        ++stratum_end;
    }
    FunctionErrors::ByStart errors;
    for (std::size_t i = 0; const auto& [start, counts] : functions) {
        const auto error = sizes.half_width(open[i], closed[i]);
        const bool has_some = open[i].count + closed[i].count != 0;
        if (error && has_some) errors[start] = tenths_upwards(*error);
        ++i;
    }
    return errors;
}

// Looks are treated as independent, so a function with few looks may have them by chance.
FunctionErrors::ByStart look_errors(const std::vector<PlaceTime>& times, SymbolSource& symbols) {
    constexpr double normal_95_percent = 1.96;
    std::map<CodeLocation, PlaceTime> functions;
    PlaceTime all;
    for (const PlaceTime& time : times) {
        add(all, time);
        if (const auto start = symbols.symbol(time.at).function_start)
            add(functions[{time.at.module, *start}], time);
    }
    FunctionErrors::ByStart errors;
    const auto number = static_cast<double>(all.looks);
    for (const auto& [start, time] : functions) {
        const auto own = static_cast<double>(time.looks);
        if (time.looks == 0 || time.looks > all.looks) continue;
        // Agresti and Coull (1998): with few looks, a share of all or nothing is not taken as
        // certain.
        const double share = (own + 2) / (number + 4);
        const double deviation = std::sqrt(number * share * (1 - share));
        errors[start] =
            tenths_upwards(normal_95_percent * deviation * static_cast<double>(time.time_ns) / own);
    }
    return errors;
}

FunctionErrors sample_errors(const Profile& profile, SymbolSource& symbols) {
    FunctionErrors errors;
    if (const auto& batches = profile.function_batches; !batches.sizes.empty()) {
        errors.instructions = errors_of(by_function(batches, symbols), batches);
        return errors;
    }
    for (const Method& method : profile.methods) {
        if (method.error) errors.instructions[method.entry] = *method.error;
        if (method.time_error_ns) errors.time_ns[method.entry] = *method.time_error_ns;
    }
    return errors;
}

}  // namespace

FunctionErrors function_errors(const Profile& profile, SymbolSource& symbols) {
    FunctionErrors errors = sample_errors(profile, symbols);
    if (!profile.times.empty()) errors.time_ns = look_errors(profile.times, symbols);
    return errors;
}

}  // namespace shadowprof
