#include "report/lists/function_errors.h"

#include <cmath>
#include <utility>

#include "profile/merge/join.h"
#include "profile/statistics/batch_means.h"

namespace shadowprof {
namespace {

using AmountsByBatch = std::vector<FunctionBatches::Amount>;

std::map<CodeLocation, AmountsByBatch> by_function(const FunctionBatches& batches,
                                                   SymbolSource& symbols) {
    std::map<CodeLocation, AmountsByBatch> functions;
    for (const auto& part : batches.parts) {
        const auto start = symbols.symbol(part.at).function_start;
        if (!start || part.batch >= batches.sizes.size()) continue;
        auto& amounts = functions[{part.at.module, *start}];
        amounts.resize(batches.sizes.size());
        amounts[part.batch].instructions += part.amount.instructions;
        amounts[part.batch].time_ns += part.amount.time_ns;
    }
    return functions;
}

// The errors of one amount, `of`, for all functions with some of it in any batch.
FunctionErrors::ByStart errors_of(const std::map<CodeLocation, AmountsByBatch>& functions,
                                  const FunctionBatches& batches,
                                  double FunctionBatches::Amount::*of) {
    std::vector<StratumSums> open(functions.size());
    std::vector<ClosedSums> closed(functions.size());
    BatchSizes sizes;
    sizes.set_numbers(batches.numbers.ticks, batches.numbers.samples);
    auto stratum_end = batches.stratum_ends.begin();
    for (std::size_t batch = 0; batch < batches.sizes.size(); ++batch) {
        const BatchSize size{batches.sizes[batch].*of, batches.sizes[batch].time_ns};
        sizes.add(size);
        for (std::size_t i = 0; const auto& [start, amounts] : functions)
            open[i++].add(amounts[batch].*of, size);
        if (stratum_end == batches.stratum_ends.end() || *stratum_end != batch + 1) continue;
        for (std::size_t i = 0; i < open.size(); ++i)
            sizes.close(std::exchange(open[i], {}), closed[i]);
        sizes.end_stratum();
        ++stratum_end;
    }
    FunctionErrors::ByStart errors;
    for (std::size_t i = 0; const auto& [start, amounts] : functions) {
        const auto error = sizes.half_width(open[i], closed[i]);
        const bool has_some = open[i].count + closed[i].count != 0;
        if (error && has_some) errors[start] = tenths_upwards(*error);
        ++i;
    }
    return errors;
}

// Ticks are treated as independent, so a function with few ticks may have them by chance.
FunctionErrors::ByStart clock_errors(const std::vector<ClockTicks>& clock, SymbolSource& symbols) {
    constexpr double normal_95_percent = 1.96;
    std::map<CodeLocation, ClockTicks> functions;
    ClockTicks all;
    for (const ClockTicks& ticks : clock) {
        add(all, ticks);
        if (const auto start = symbols.symbol(ticks.at).function_start)
            add(functions[{ticks.at.module, *start}], ticks);
    }
    FunctionErrors::ByStart errors;
    const auto number = static_cast<double>(all.ticks);
    for (const auto& [start, ticks] : functions) {
        const auto own = static_cast<double>(ticks.ticks);
        if (ticks.ticks == 0 || ticks.ticks > all.ticks) continue;
        // Agresti and Coull (1998): with few ticks, a share of all or nothing is not taken as
        // certain.
        const double share = (own + 2) / (number + 4);
        const double deviation = std::sqrt(number * share * (1 - share));
        errors[start] = tenths_upwards(normal_95_percent * deviation *
                                       static_cast<double>(ticks.time_ns) / own);
    }
    return errors;
}

FunctionErrors sample_errors(const Profile& profile, SymbolSource& symbols) {
    FunctionErrors errors;
    if (const auto& batches = profile.function_batches; !batches.sizes.empty()) {
        using Amount = FunctionBatches::Amount;
        const auto functions = by_function(batches, symbols);
        errors.instructions = errors_of(functions, batches, &Amount::instructions);
        errors.time_ns = errors_of(functions, batches, &Amount::time_ns);
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
    if (!profile.clock.empty()) errors.time_ns = clock_errors(profile.clock, symbols);
    return errors;
}

}  // namespace shadowprof
