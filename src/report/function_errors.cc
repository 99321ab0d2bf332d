#include "report/function_errors.h"

#include <cmath>

#include "profile/batch_means.h"
#include "profile/join.h"

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

// Of what `of` is of a batch, for all functions that have some.
FunctionErrors::ByStart errors_of(const std::map<CodeLocation, AmountsByBatch>& functions,
                                  const AmountsByBatch& batches,
                                  double FunctionBatches::Amount::*of) {
    BatchSizes sizes;
    for (const auto& size : batches) sizes.add(size.*of);
    FunctionErrors::ByStart errors;
    for (const auto& [start, amounts] : functions) {
        double sum = 0, squares = 0, products = 0;
        for (std::size_t i = 0; i < amounts.size(); ++i) {
            const double amount = amounts[i].*of;
            sum += amount;
            squares += amount * amount;
            products += amount * batches[i].*of;
        }
        if (sum == 0) continue;
        if (const auto error = sizes.half_width(sum, squares, products))
            errors[start] = tenths_upwards(*error);
    }
    return errors;
}

// Ticks are taken for independent of each other; a function of a few has them by chance.
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
        // So that what has all of few ticks is not held for certain (Agresti and Coull 1998).
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
        errors.instructions = errors_of(functions, batches.sizes, &Amount::instructions);
        errors.time_ns = errors_of(functions, batches.sizes, &Amount::time_ns);
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
