// The accuracy of a sampled profile for people and for programs.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "base/files/byte_sink.h"
#include "base/result.h"
#include "profile/accuracy/accuracy.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// A profile that was compared.
struct AccuracySide {
    std::string path;
    const Profile& profile;
};

inline constexpr std::string_view accuracy_schema = "shadowprof-accuracy/1";

struct AccuracyInputs {
    AccuracySide full, sampled;
    std::optional<AccuracySide> floor = {};  // what floors are from
};

// As a table, and below it the worst entries of each metric. `symbols` are of accuracy.modules.
std::string accuracy_text(const Accuracy& accuracy, const AccuracyInputs& inputs,
                          SymbolSource& symbols);

// As one JSON object; man/shadowprof-accuracy.1 says what is in it. Errors: those of the sink.
Result<void> write_accuracy(const Accuracy& accuracy, const AccuracyInputs& inputs,
                            SymbolSource& symbols, ByteSink& sink);

struct AccuracyOptions {
    std::string full, sampled;  // files; one may be "-", standard input
    std::string floor = {};     // of another run like `full`; empty: no floors
    bool json = false;
    std::size_t top = 5;  // worst entries of each metric
};

// What `shadowprof accuracy` does. Errors: those of read_profile() and measure_accuracy(), or `out`
// cannot be written.
Result<void> report_accuracy(const AccuracyOptions& options, std::FILE* out);

}  // namespace shadowprof
