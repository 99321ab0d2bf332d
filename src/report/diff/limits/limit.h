// Limits on what may change: "instructions>+2%", "function:parse_*>+5%".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

enum class LimitOf : std::uint8_t {
    instructions,  // executed in all; this and the next two of exact profiles
    edges,
    calls,
    function,  // instructions of its own, of each function that matches
    entries,   // how often it was called
    latency    // share of loads from a level of memory
};

enum class LimitUnit : std::uint8_t {
    percent,  // of BASE
    points,   // percentage points of a share
    count     // instructions or executions
};

struct Limit {
    std::string text;  // as it was written
    LimitOf of = LimitOf::instructions;
    std::string pattern;  // of function and entries: see glob_matches(); of latency: a level
    bool falls = false;   // it limits how much less there may be
    double amount = 0;    // more than this is too much; not negative
    LimitUnit unit = LimitUnit::percent;

    bool of_functions() const { return of == LimitOf::function || of == LimitOf::entries; }
};

// QUANTITY>+CHANGE or QUANTITY<-CHANGE. QUANTITY is `instructions`, `edges`, `calls`,
// `function:GLOB`, `entries:GLOB` or `latency.LEVEL`; CHANGE is a decimal number and `%`, `pp`,
// nothing, `k`, `M` or `G`. Errors: ErrorCode::usage, with the text and a caret under the character
// that is wrong.
Result<Limit> parse_limit(std::string_view text);

}  // namespace shadowprof
