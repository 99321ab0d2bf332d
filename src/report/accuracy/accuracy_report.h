// Prints the accuracy of a sampled profile, as text and as JSON.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "base/files/byte_sink.h"
#include "base/result.h"
#include "profile/accuracy/accuracy.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// One of the profiles that were compared.
struct AccuracySide {
    std::string path;
    const Profile& profile;
};

inline constexpr std::string_view accuracy_schema = "shadowprof-accuracy/1";

struct AccuracyInputs {
    AccuracySide full, sampled;
    std::optional<AccuracySide> floor = {};  // the profile that floors were computed from
};

// Returns a table and, below it, the worst entries of each metric. `symbols` are of
// accuracy.modules.
std::string accuracy_text(const Accuracy& accuracy, const AccuracyInputs& inputs,
                          SymbolSource& symbols);

// Writes one JSON object; see man/shadowprof-accuracy.1 for its members. Errors: those of the sink.
Result<void> write_accuracy(const Accuracy& accuracy, const AccuracyInputs& inputs,
                            SymbolSource& symbols, ByteSink& sink);

struct AccuracyOptions {
    std::string full, sampled;  // files; one may be "-", standard input
    std::string floor = {};     // profile of another run like `full`; empty: no floors
    bool json = false;
    std::size_t top = 5;  // worst entries of each metric
};

// Runs `shadowprof accuracy`. Errors: those of read_profile() and measure_accuracy(), or `out`
// cannot be written.
Result<void> report_accuracy(const AccuracyOptions& options, std::FILE* out);

}  // namespace shadowprof
