// Options of `shadowprof callgrind`, which are those of `valgrind --tool=callgrind`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/export/export_input.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

struct CallgrindRequest {
    RunOptions options;
    // Patterns of SafeOutput.
    std::string output = "callgrind.out.%p";
    std::string log;  // empty: `log_descriptor`
    int log_descriptor = 2;
    CallgrindDetails details = {
        .instructions = false, .jumps = false, .skips_linkage_tables = true};
    bool combines_parts = false;  // all parts are in one file
    bool quiet = false;
    std::vector<std::string> warnings;  // about options that have no effect here
    std::optional<std::string> text;    // text to print instead of running, as for --help
};

// Parses the words behind the command's name. `variable` returns the value of an environment
// variable, or null. Options of callgrind that have no effect here are warned of, unless they could
// not change what is counted. Errors: usage; the message names the option.
Result<CallgrindRequest> parse_callgrind(std::span<const std::string> words,
                                         const char* (*variable)(const char* name));

}  // namespace shadowprof
