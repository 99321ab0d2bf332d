// Checks limits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/diff/limits/limit.h"
#include "report/diff/profile_diff.h"

namespace shadowprof {

enum class Verdict : std::uint8_t { kept, exceeded, undecidable };
std::string_view name(Verdict verdict);

// The check of a limit on one entry.
struct LimitTest {
    std::string name;  // name of the function, level or total; may hold any bytes
    DiffUnit unit = DiffUnit::instructions;
    double base = 0, next = 0;
    double relative = 0;          // change as a share of base; infinite if the entry is new
    std::optional<double> error;  // half the width of the difference's interval
    bool beyond = false;          // the estimate is beyond the limit
    bool exceeds = false;         // and the difference is larger than its error

    double difference() const { return next - base; }
};

struct LimitResult {
    Limit limit;
    Verdict verdict = Verdict::kept;
    std::string why;               // why it is undecidable
    std::size_t tested = 0;        // number of entries; for a pattern, those that match
    std::size_t undecided = 0;     // tested entries beyond the limit whose error is unknown
    std::vector<LimitTest> tests;  // those that exceed the limit, the worst first; or else the one
                                   // that comes nearest
};

struct LimitOptions {
    // A pattern with wildcards tests only functions with at least this share of all instructions
    // (or calls) in one of the profiles.
    double min_share = 0;
};

// A limit is exceeded if the estimated change is beyond it and larger than the difference's
// interval. The intervals hold for all tests of all `limits` together, at 95%. A limit is
// undecidable if no test certainly exceeds it, but a change beyond it has an unknown error. Results
// are in the order of `limits`. Errors: ErrorCode::not_found if neither profile has such a function
// or level; ErrorCode::unsupported if profiles of this kind can never decide the limit.
Result<std::vector<LimitResult>> check_limits(const Diff& diff, std::span<const Limit> limits,
                                              const LimitOptions& options);

}  // namespace shadowprof
