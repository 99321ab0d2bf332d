#include "report/function_errors.h"

#include "profile/batch_means.h"

namespace shadowprof {
namespace {

using InstructionsByBatch = std::vector<double>;

std::map<CodeLocation, InstructionsByBatch> by_function(const FunctionBatches& batches,
                                                        SymbolSource& symbols) {
    std::map<CodeLocation, InstructionsByBatch> functions;
    for (const auto& part : batches.parts) {
        const auto start = symbols.symbol(part.at).function_start;
        if (!start || part.batch >= batches.sizes.size()) continue;
        auto& instructions = functions[{part.at.module, *start}];
        instructions.resize(batches.sizes.size());
        instructions[part.batch] += part.instructions;
    }
    return functions;
}

std::map<CodeLocation, double> errors_from_batches(const FunctionBatches& batches,
                                                   SymbolSource& symbols) {
    BatchSizes sizes;
    for (const double size : batches.sizes) sizes.add(size);
    std::map<CodeLocation, double> errors;
    for (const auto& [start, instructions] : by_function(batches, symbols)) {
        double sum = 0, squares = 0, products = 0;
        for (std::size_t i = 0; i < instructions.size(); ++i) {
            sum += instructions[i];
            squares += instructions[i] * instructions[i];
            products += instructions[i] * batches.sizes[i];
        }
        if (const auto error = sizes.half_width(sum, squares, products))
            errors[start] = tenths_upwards(*error);
    }
    return errors;
}

}  // namespace

std::map<CodeLocation, double> function_errors(const Profile& profile, SymbolSource& symbols) {
    if (!profile.function_batches.sizes.empty())
        return errors_from_batches(profile.function_batches, symbols);
    std::map<CodeLocation, double> errors;
    for (const Method& method : profile.methods)
        if (method.error) errors[method.entry] = *method.error;
    return errors;
}

}  // namespace shadowprof
