// Limits for changes: "instructions>+2%", "function:parse_*>+5%".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

enum class LimitOf : std::uint8_t {
    instructions,  // instructions executed in all; only in exact profiles, like edges and calls
    edges,
    calls,
    function,  // instructions in each matching function itself
    entries,   // calls of each matching function
    latency,   // share of loads from a level of memory
    alloc,     // calls of allocators and the bytes they were asked for; like the next three, in all
               // and only in exact profiles
    cache,     // accesses to memory and misses of the modelled caches
    branch,    // branches and mispredictions of the modelled predictor
    syscalls   // system calls of one name, those of them that failed, or the bytes they transferred
};

enum class LimitUnit : std::uint8_t {
    percent,  // percent of BASE
    points,   // percentage points of a share
    count     // instructions or executions
};

struct Limit {
    std::string text;  // as the user wrote it
    LimitOf of = LimitOf::instructions;
    std::string pattern;  // for function and entries, see glob_matches(); for latency, a level
    std::string total;    // the name of a number for the whole run (DiffTotal); else empty
    bool falls = false;   // it limits a decrease
    double amount = 0;    // a larger change exceeds the limit; not negative
    LimitUnit unit = LimitUnit::percent;

    bool of_functions() const { return of == LimitOf::function || of == LimitOf::entries; }
    // Of functions or levels of memory, not of whole runs.
    bool of_entries() const { return of_functions() || of == LimitOf::latency; }
};

// Parses QUANTITY>+CHANGE or QUANTITY<-CHANGE. QUANTITY is `instructions`, `edges`, `calls`,
// `function:GLOB`, `entries:GLOB`, `latency.LEVEL`, one of counted_totals, `syscalls.NAME`,
// `syscalls.NAME.failed` or `syscalls.NAME.bytes`. CHANGE is a decimal number and `%`, `pp`,
// nothing, `k`, `M` or `G`. Errors: ErrorCode::usage, with the text and a caret under the wrong
// character.
Result<Limit> parse_limit(std::string_view text);

}  // namespace shadowprof
