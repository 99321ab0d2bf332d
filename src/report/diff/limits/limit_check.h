// Whether limits are kept.
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

// One entry that a limit was tested on.
struct LimitTest {
    std::string name;  // of the function or level; of a total its quantity. May hold anything
    DiffUnit unit = DiffUnit::instructions;
    double base = 0, next = 0;
    double relative = 0;          // change as a share of base; infinite for what is new
    std::optional<double> error;  // half the width of the difference's interval
    bool beyond = false;          // the limit, by the estimate
    bool exceeds = false;         // and by more than its error

    double difference() const { return next - base; }
};

struct LimitResult {
    Limit limit;
    Verdict verdict = Verdict::kept;
    std::string why;               // it is undecidable
    std::size_t tested = 0;        // entries; of a pattern those that match
    std::size_t undecided = 0;     // of these: beyond the limit, but of an unknown error
    std::vector<LimitTest> tests;  // those that exceed the limit, the worst first; else the one
                                   // that comes nearest
};

struct LimitOptions {
    // A pattern with wildcards tests functions with at least so much of all instructions (of all
    // calls) in one of the profiles.
    double least_share = 0;
};

// A limit is exceeded where the estimated change is beyond it and outside of its interval. The
// intervals hold for all tests of all `limits` together, at 95%. A limit that nothing exceeds for
// certain, but something if its unknown error is small enough, is undecidable. Results are in the
// order of `limits`. Errors: ErrorCode::not_found if no function or level of either profile is
// meant, unsupported where the profiles are not of a kind that can ever tell.
Result<std::vector<LimitResult>> check_limits(const Diff& diff, std::span<const Limit> limits,
                                              const LimitOptions& options);

}  // namespace shadowprof
